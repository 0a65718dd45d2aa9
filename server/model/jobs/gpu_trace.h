/*
 * Job: what a profiler's trace says of the time of a GPU, as sm-ship sums it up (server/cli/trace/trace.h), a small document:
 *      {"stream", "trace", "rank", "file", "profiled_ms", "first_step", "last_step", "steps", "step_us", "last_left_out", "devices", "kernels",
 *      "kernel_us", "idle_us", "compute_us", "communication_us", "overlap_us", "by_kind_us": {"compute", "communication", "memory", "other"}}.
 *      docs/anatomy.md says what each is. Pure.
 * Ownership: texts are the arena's. Threads: values.
 */
#pragma once

#include "base/arena.h"
#include "base/json/json_read.h"
#include "base/json/json_write.h"

#define GPU_TRACE_MEMBERS                                                                                                \
	"stream trace file rank devices profiled_ms first_step last_step steps step_us last_left_out kernels kernel_us " \
	"idle_us compute_us communication_us overlap_us by_kind_us"

enum { GPU_TRACE_NAME_BYTES = 255, GPU_TRACE_FILE_BYTES = 4096, GPU_TRACE_KINDS = 4 };

extern const char *const gpu_trace_kinds[GPU_TRACE_KINDS];

struct gpu_trace {
	struct span stream, trace; /* what names it in its job */
	struct span file; /* where it is: "": not said */
	int64_t rank, first_step, last_step, step_us, devices; /* -1: not known */
	int64_t profiled_ms; /* 0: not known */
	int64_t steps;
	bool is_last_left_out;
	int64_t kernels, kernel_us, idle_us, compute_us, communication_us, overlap_us;
	int64_t by_kind_us[GPU_TRACE_KINDS]; /* of kernels one by one; -1: not known */
};

/* ERR_SEMANTIC names the field: also of times that cannot be together. */
enum status gpu_trace_read(
	struct gpu_trace *out, const struct json *document, struct arena *arena, struct error *err) MUST_CHECK;
/* The members of such a document, into an object that is open. */
void gpu_trace_write(const struct gpu_trace *trace, struct json_writer *w);
/* The document, as it is stored. */
enum status gpu_trace_print(
	const struct gpu_trace *trace, struct arena *arena, struct span *out, struct error *err) MUST_CHECK;

/* Shares of the time from the first kernel to the last; NaN: that is none. */
double gpu_trace_share(const struct gpu_trace *trace, int64_t us);
int64_t gpu_trace_exposed_us(const struct gpu_trace *trace); /* communication that no computation ran beside */
