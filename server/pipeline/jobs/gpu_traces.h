/* Job: what traces say of a job's GPUs is written and deleted. Ownership: the caller's. Threads: workers; they wait for the writer. */
#pragma once

#include "store/gpu_traces.h"

struct pipeline;

struct gpu_trace_change {
	struct span job, team; /* team: of the token; "": any */
	struct gpu_trace_row row;
	bool is_deletion; /* of the row's stream and trace */
	uint64_t most; /* traces of a job */
	size_t deleted; /* set */
};

/* ERR_NOT_FOUND, ERR_FORBIDDEN; ERR_TOO_LARGE: the job has as many as it may. */
enum status pipeline_change_gpu_trace(
	struct pipeline *pipeline, struct arena *arena, struct gpu_trace_change *change, struct error *err) MUST_CHECK;
