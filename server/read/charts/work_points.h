/*
 * Job: how many tokens a job had consumed at each step, by one count of them. Where the count falls, the highest so far holds. One that is
 *      lower in a later attempt, or in the next job of a run, began anew: what was counted before is added.
 * Ownership: in the arena. Threads: any.
 */
#pragma once

#include "store/store.h"

struct pipeline;

/* What counts a job's tokens: its own metric, else what tokens_read.h goes by, which may need what an earlier job of its run states. */
struct work_count {
	struct span metric; /* "": none does */
	double tokens_each; /* one of its units is so many */
	bool is_by_step; /* its steps are counted, not its values */
	struct span
		from; /* "derived:tokens", "consumed_samples * sequence_length (seq_length, HyperParameters of run-1)" */
};

enum work_extent { WORK_OF_JOB, WORK_OF_RUN_SO_FAR /* of the job and those before it */, WORK_OF_RUN };

struct work_points {
	double *steps, *tokens; /* both rise */
	size_t count;
	double own_first; /* so far at the first point of the last job; NaN: it has none */
	double before; /* of these, by counts that were over before the last one began anew */
};
enum status work_points_read(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	struct span job, const struct work_count *by, enum work_extent extent, struct work_points *out,
	struct error *err) MUST_CHECK;
