/*
 * Job: how many tokens a training has consumed, of how many, and what says so (docs/goodput.md, "Tokens").
 * Ownership: spans in the arena. Threads: any.
 */
#pragma once

#include "store/jobs.h"

struct pipeline;

struct tokens_consumed {
	double budget; /* of the whole training; NaN: nobody says, as below */
	double first, last; /* consumed at the first and the newest point */
	int64_t first_ms, last_ms; /* log times of these */
	struct span budget_from, from; /* "": as above */
	struct span not_understood; /* keys of settings that cannot be read, one a line */
	double step_tokens; /* steps are counted, of so many each, those of this series; 0: a metric counts */
	struct span step_metric, step_stream;
};

enum status tokens_read(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	const struct job_row *job, struct tokens_consumed *out, struct error *err) MUST_CHECK;
