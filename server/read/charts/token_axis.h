/*
 * Job: the axis of tokens: what a job's own count of them had come to at each step. Between two of its points, and beyond the last two,
 *      it is taken to go on evenly; where it falls (a restart), the highest so far holds. The page has the same (lib/chart/xalong.ts).
 * Ownership: in the arena. Threads: any.
 */
#pragma once

#include "store/store.h"

struct pipeline;

struct token_axis {
	double *steps, *tokens; /* both rise */
	size_t count; /* at least 2 */
};

/* ERR_NOT_FOUND names the job: it is not there, or counts no tokens. */
enum status token_axis_read(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	struct span job, struct token_axis *out, struct error *err) MUST_CHECK;

double token_axis_tokens(const struct token_axis *axis, double step);
double token_axis_step(const struct token_axis *axis, double tokens);
