/*
 * Job: in which row a value is that has an axis of its own: its point has the step of that axis, and the time of the row.
 * Ownership: init/done. Threads: one at a time.
 */
#pragma once

#include "base/alloc.h"
#include "base/error.h"

struct history_rows_cell {
	int64_t step, ts_ms;
	uint32_t series;
	double value;
};

struct rows_index {
	struct history_rows_cell *rows; /* by time, then by step */
	size_t row_count;
	struct history_rows_cell *axes; /* what rows of these times say of axes, whether these are of `rows` or not */
	size_t axis_count, cap;
};

/* A copy of the cells. */
enum status rows_index_init(
	struct rows_index *index, const struct history_rows_cell *cells, size_t count, struct error *err) MUST_CHECK;
void rows_index_done(struct rows_index *index);
AUTO_DONE_TYPE(rows_index)
bool rows_index_has_time(const struct rows_index *index, int64_t ts_ms);
enum status rows_index_add_axis(
	struct rows_index *index, const struct history_rows_cell *cell, struct error *err) MUST_CHECK;
/* Before the first question. */
void rows_index_sort(struct rows_index *index);
/* The step of the row among `rows` that a value of the series is in; NO_STEP: of none of them. axes: of each series the series that it has as its axis, without circles. */
int64_t rows_index_find(
	const struct rows_index *index, const int32_t *axes, uint32_t series, int64_t ts_ms, int64_t step);
