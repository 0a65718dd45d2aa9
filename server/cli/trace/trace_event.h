/*
 * Job: the events of a trace one by one, with what is asked of them.
 * Ownership: values. Threads: any.
 */
#pragma once

#include "base/error.h"
#include "base/json/json_pull.h"

enum trace_kernel { TRACE_COMPUTE, TRACE_COMMUNICATION, TRACE_MEMORY, TRACE_OTHER, TRACE_KERNELS };

/* Begins at the first byte again, and says where that comes from. */
struct trace_source {
	enum status (*rewind)(void *context, struct error *err);
	json_pull_fill *fill;
	void *context;
};

struct trace_event {
	int64_t from_us, to_us; /* whole ones inside it, as HTA has them; to may be before from */
	int64_t stream, correlation, device; /* -1: it has none */
	enum trace_kernel kind; /* by its name */
	bool is_sync; /* "Event Sync", "Context Sync" */
	bool is_step; /* its name holds "ProfilerStep" */
	int64_t step; /* its number; -1: none */
};

/* Of the document around them; as they were before where it does not say. */
struct trace_about {
	int64_t rank, base_ns;
};

typedef enum status trace_take(void *context, const struct trace_event *event, struct error *err);

/* Events with a time, a duration and a category other than "Trace". */
enum status trace_walk(const struct trace_source *source, struct trace_about *about, trace_take *take, void *context,
	struct error *err) MUST_CHECK;

enum trace_kernel trace_kernel_of(struct span name);
