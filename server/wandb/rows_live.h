/*
 * Job: which rows of a run's history a restart made again. Attempts begin at steps of the series that leads; where that has an axis of its
 *      own, these are no steps of rows, and its axis tells where in each attempt's rows they lie.
 * Ownership: the arena's. Threads: a worker.
 */
#pragma once

#include "state/streams/job_view.h"
#include "wandb/rows_watch.h"

enum { ROWS_NO_AXIS = -1 };

struct rows_live {
	const int64_t *ends; /* by attempt: of its rows those from this step on were made again */
	size_t count;
};

/* axes: of each series, the one that it has as its own; ROWS_NO_AXIS: it is by the rows' steps. */
enum status rows_live_find(struct wandb_call *call, struct job_view *view, const int32_t *axes,
	struct rows_watch *watch, struct rows_live *out, struct error *err) MUST_CHECK;

static inline bool rows_live_has(const struct rows_live *live, const struct point *point)
{
	size_t at = point->attempt ? point->attempt - 1 : 0;

	return at >= live->count || point->step < live->ends[at];
}
