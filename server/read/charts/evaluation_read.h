/*
 * Job: scores of checkpoints that a job's log has: what its trainer prints of evaluations is series already, and is no score a second time
 *      in the database. docs/evaluations.md, "From the log".
 * Ownership: lives in the arena. Threads: any.
 */
#pragma once

#include "model/jobs/evaluation.h"
#include "store/store.h"

struct pipeline;

/*
 * Of each series of an evaluation the newest print of each step, in the order of evaluation_group. Only those of `steps` (ascending: what is
 * known of checkpoints), if some are; else all.
 */
enum status evaluation_read_printed(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	struct span job, const int64_t *steps, size_t step_count, struct evaluation_score **out, size_t *count,
	struct error *err) MUST_CHECK;
