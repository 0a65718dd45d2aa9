/*
 * Job: how many tokens a training has consumed, of how many, and what says so (docs/goodput.md, "Tokens").
 * Ownership: spans in the arena. Threads: any.
 */
#pragma once

#include "store/jobs.h"

struct inputs;
struct job_view;
struct pipeline;
struct series_view;

struct tokens_consumed {
	double budget; /* of the whole training; NaN: nobody says, as below */
	double first, last; /* consumed at the first and the newest point */
	int64_t first_ms, last_ms; /* log times of these */
	struct span budget_from, from; /* "": as above */
	struct span not_understood; /* keys of settings that cannot be read, one a line */
	double step_tokens; /* steps are counted, of so many each, those of this series; 0: a metric counts */
	struct span step_metric, step_stream;
};

/* The series that tells of it, and how many tokens one of its units is. */
enum { TOKENS_FROM_BYTES = 512 };
struct tokens_meter {
	const struct series_view *series; /* of the view; NULL: none does */
	double tokens_each;
	bool is_by_step; /* its steps are counted, not its values */
	char from[TOKENS_FROM_BYTES];
};

/* view: with its series. inputs: also of the jobs before it. */
enum status tokens_read_meter(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	const struct job_view *view, struct inputs **inputs, struct tokens_meter *out, struct error *err) MUST_CHECK;
enum status tokens_read(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	const struct job_row *job, struct tokens_consumed *out, struct error *err) MUST_CHECK;
