/*
 * Job: what is said of a job's life again and again: of a run of the same status the first and the newest row can stand for all.
 * Threads: the writer's.
 */
#pragma once

#include "store/told.h"

enum told_fold {
	TOLD_FOLD_ENDS, /* ends alone, of runs that are long: behind an end hardly anybody tells late what was between two of them */
	TOLD_FOLD_ALL
};

/* rows: all of the job's, by time; those that stay are left in front, *count. */
enum status told_fold_runs(struct store_tx *tx, int64_t job_id, enum told_fold fold, struct told_row *rows,
	size_t *count, struct error *err) MUST_CHECK;
