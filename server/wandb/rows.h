/*
 * Job: rows of a run's history, put together again of its points: what came in one line has one step and one time. A value that has an
 *      axis of its own is found by its time, and by the value of its axis in the row.
 * Ownership: read/done. Threads: a worker.
 */
#pragma once

#include "state/streams/job_view.h"
#include "wandb/internal.h"
#include "wandb/rows_index.h"

enum { ROWS_KEYS_MAX = 256 };

struct history_rows_query {
	int64_t first_step, last_step; /* both inclusive */
	size_t samples; /* so many of more rows; 0: all */
	const struct span *keys; /* only rows that have all of them, and only these; NULL: all */
	size_t key_count;
};

struct history_rows {
	const struct series_view *series; /* the arena's */
	struct history_rows_cell *cells; /* by step, then by time: a row is what has the same of both */
	size_t count, cap;
	int64_t start_ms; /* of the run */
};

/* ERR_SEMANTIC: it has more values than --max-wandb-values. A run that has logged nothing has no rows. */
enum status history_rows_read(struct wandb_call *call, const struct tracked_run_row *run,
	const struct history_rows_query *query, struct history_rows *out, struct error *err) MUST_CHECK;
void history_rows_done(struct history_rows *rows);
AUTO_DONE_TYPE(history_rows)
/* Where the row that begins at cell `at` ends. */
size_t history_rows_end(const struct history_rows *rows, size_t at);
void history_rows_write_row(const struct history_rows *rows, size_t at, size_t end, struct json_writer *w);

/* The last step of the run by W&B's own count, and its series. *last -1: none. */
enum status history_rows_read_keys(struct wandb_call *call, const struct tracked_run_row *run, int64_t *last,
	const struct series_view **series, size_t *count, struct error *err) MUST_CHECK;
