#include "wandb/rows_index.h"

#include "model/metrics/batch_series.h"
#include "wandb/rows_live.h"

#include <math.h>
#include <stdlib.h>

static int compare(int64_t a, int64_t b)
{
	return (a > b) - (a < b);
}

static int by_time(const void *left, const void *right)
{
	const struct history_rows_cell *a = left, *b = right;
	int order = compare(a->ts_ms, b->ts_ms);

	return order ? order : compare(a->step, b->step);
}

static int by_axis(const void *left, const void *right)
{
	const struct history_rows_cell *a = left, *b = right;
	int order = compare(a->series, b->series);

	order = order ? order : compare(a->ts_ms, b->ts_ms);
	order = order ? order : (a->value > b->value) - (a->value < b->value);
	return order ? order : compare(a->step, b->step);
}

enum status rows_index_init(
	struct rows_index *index, const struct history_rows_cell *cells, size_t count, struct error *err)
{
	*index = (struct rows_index){.row_count = count};
	if (!count)
		return OK;
	index->rows = mem_alloc(count * sizeof *index->rows);
	if (!index->rows)
		return error_no_memory(err);
	memcpy(index->rows, cells, count * sizeof *index->rows);
	qsort(index->rows, count, sizeof *index->rows, by_time);
	return OK;
}

void rows_index_done(struct rows_index *index)
{
	mem_free(index->rows);
	mem_free(index->axes);
}

/* The first that is not before `key`. */
static size_t find_first(const struct history_rows_cell *cells, size_t count, const struct history_rows_cell *key,
	int (*order)(const void *left, const void *right))
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = (low + high) / 2;
		if (order(&cells[middle], key) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

bool rows_index_has_time(const struct rows_index *index, int64_t ts_ms)
{
	const struct history_rows_cell key = {.ts_ms = ts_ms, .step = INT64_MIN};
	size_t at = find_first(index->rows, index->row_count, &key, by_time);

	return at < index->row_count && index->rows[at].ts_ms == ts_ms;
}

enum status rows_index_add_axis(struct rows_index *index, const struct history_rows_cell *cell, struct error *err)
{
	if (cell->value != floor(cell->value))
		return OK; /* no step */
	if (!mem_grow((void **)&index->axes, index->axis_count, &index->cap, sizeof *index->axes))
		return error_no_memory(err);
	index->axes[index->axis_count++] = *cell;
	return OK;
}

void rows_index_sort(struct rows_index *index)
{
	if (index->axis_count)
		qsort(index->axes, index->axis_count, sizeof *index->axes, by_axis);
}

/* The step of what the axis was in a row of that time; else (the row had none, or the axis was said of later) the same. */
static int64_t find_step(const struct rows_index *index, uint32_t axis, int64_t ts_ms, int64_t step)
{
	const struct history_rows_cell key = {.step = INT64_MIN, .ts_ms = ts_ms, .series = axis, .value = (double)step};
	size_t at = find_first(index->axes, index->axis_count, &key, by_axis);
	const struct history_rows_cell *found = &index->axes[at];
	bool is_there = at < index->axis_count && found->series == axis && found->ts_ms == ts_ms;

	return is_there && found->value == key.value ? found->step : step;
}

int64_t rows_index_find(
	const struct rows_index *index, const int32_t *axes, uint32_t series, int64_t ts_ms, int64_t step)
{
	struct history_rows_cell row = {.step = step, .ts_ms = ts_ms};

	for (int32_t axis = axes[series]; axis != ROWS_NO_AXIS; axis = axes[axis])
		row.step = find_step(index, (uint32_t)axis, ts_ms, row.step);
	size_t at = find_first(index->rows, index->row_count, &row, by_time);
	return at < index->row_count && !by_time(&index->rows[at], &row) ? row.step : NO_STEP;
}
