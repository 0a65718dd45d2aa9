/*
 * Job: a batch in the writer's queue.
 * Ownership: the pipeline's. Threads: who brings it, then the writer.
 */
#pragma once

#include "pipeline/commit/ingest_result.h"
#include "state/pipeline_state.h"

struct ingest {
	struct work work_item;
	struct batch *batch;
	void (*done)(void *context, const struct ingest_result *result);
	void *context;
	struct ingest_result result;
	struct source_row source; /* writer; job_id 0: no count has to be noted */
};
