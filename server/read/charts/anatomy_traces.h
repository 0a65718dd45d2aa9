/*
 * Job: what profilers' traces add to the anatomy of a job's steps: docs/anatomy.md.
 * Ownership: spans and arrays in the arena. Threads: any.
 */
#pragma once

#include "model/jobs/gpu_trace.h"
#include "read/charts/anatomy_read.h"

struct anatomy_trace {
	struct gpu_trace trace;
	int64_t received_ms;
	struct span author;
};

struct anatomy_traces {
	struct anatomy_trace *traces; /* by stream, each stream's in the order of their steps */
	size_t count;
};

/* Of those that touch the steps from `from` to `to`; one that names no steps is there when all are asked for. */
enum status anatomy_read_traces(struct store_reader *reader, struct arena *arena, int64_t job_id, int64_t from,
	int64_t to, struct anatomy_traces *out, struct error *err) MUST_CHECK;
/* exposed_communication of the streams, some of which print no timers, and of the job. */
enum status anatomy_add_traces(struct anatomy *anatomy, const struct anatomy_traces *traces, struct arena *arena,
	struct error *err) MUST_CHECK;
