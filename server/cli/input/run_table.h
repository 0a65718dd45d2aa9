/*
 * Job: CSV that W&B and MLflow export of training runs: which table it is, by its head, and the points of each row.
 *        W&B, a chart       "Step","RUN - METRIC","RUN - METRIC__MIN","RUN - METRIC__MAX", … : several runs, no times
 *        W&B, a history     _step, perhaps _timestamp and _runtime, a column a metric: one run
 *        MLflow             key, value, step, timestamp, perhaps run_id, in any order: a row a point
 *      RFC 4180; a cell that is empty is no point.
 * Ownership: new/free; init/done of cells; spans of a row live as long as the cells are not read again. Threads: any. Pure.
 */
#pragma once

#include "base/arena.h"
#include "base/buf.h"

enum run_table_kind { RUN_TABLE_NONE, RUN_TABLE_CHART, RUN_TABLE_HISTORY, RUN_TABLE_METRICS };

struct table_cells {
	struct span *items;
	size_t count, cap;
	struct buf text; /* of cells in quotes */
};

void table_cells_done(struct table_cells *cells);
AUTO_DONE_TYPE(table_cells)

/*
 * Bytes of the first record, with its line end; 0: it has no end here. *lines: line ends in it. is_end: nothing follows the text, so
 * its end is that of the record, unless it is within quotes.
 */
size_t table_record(struct span text, bool is_end, size_t *lines);
/* The cells of one whole record. False: out of memory. */
bool table_cells_read(struct table_cells *cells, struct span record) MUST_CHECK;

enum table_column_role {
	TABLE_OTHER, /* passed over */
	TABLE_STEP,
	TABLE_TIME,
	TABLE_RUN,
	TABLE_KEY,
	TABLE_VALUE, /* of the key, else of the column's own metric */
};

struct table_column {
	enum table_column_role role;
	struct span run, metric; /* of a TABLE_VALUE, where the head names them */
	struct span name;
};

struct run_table {
	struct arena *arena;
	enum run_table_kind kind;
	struct table_column *columns;
	size_t count;
	bool has_times, has_runs; /* it says which run each point is of */
};

/* ERR_INVALID: it is a table of runs, but cannot be read; kind is RUN_TABLE_NONE where it is none. */
enum status run_table_new(struct run_table **out, const struct table_cells *head, struct error *err) MUST_CHECK;
void run_table_free(struct run_table *table);
const char *run_table_name(enum run_table_kind kind); /* "a chart of W&B's" */

struct table_point {
	struct span run; /* empty: the table names none */
	struct span metric;
	int64_t step;
	int64_t ts_ms; /* 0: not said */
	double value;
};

struct table_row {
	size_t odd_cells; /* neither empty nor numbers: no points */
	size_t odd_column; /* the first of them */
};

/* ERR_INVALID: nothing of the row was taken. */
enum status run_table_read(const struct run_table *table, const struct table_cells *cells,
	void (*take)(void *context, const struct table_point *point), void *context, struct table_row *row,
	struct error *err) MUST_CHECK;

AUTO_TYPE(run_table)
