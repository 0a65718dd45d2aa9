#include "cli/sender/point_rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void point_rows_done(struct point_rows *rows)
{
	mem_free(rows->rows);
	*rows = (struct point_rows){0};
}

static struct point_row row_of(const struct point_key *key)
{
	struct point_row row = {.step = key->step, .ts_ms = key->ts_ms};
	double value = isnan(key->value) ? (double)NAN : key->value == 0 ? 0 : key->value;

	memcpy(&row.value, &value, sizeof row.value);
	return row;
}

static int compare(const void *left, const void *right)
{
	const struct point_row *a = left, *b = right;

	if (a->step != b->step)
		return a->step < b->step ? -1 : 1;
	if (a->value != b->value)
		return a->value < b->value ? -1 : 1;
	return (a->ts_ms > b->ts_ms) - (a->ts_ms < b->ts_ms);
}

bool point_rows_add(struct point_rows *rows, const struct point_key *key)
{
	if (!mem_grow((void **)&rows->rows, rows->count, &rows->cap, sizeof *rows->rows))
		return false;
	rows->rows[rows->count] = row_of(key);
	rows->rows[rows->count++].count = 1;
	return true;
}

/* Neighbours that are equal become one. */
static void join(struct point_rows *rows)
{
	size_t used = 0;

	for (size_t i = 0; i < rows->count; i++) {
		if (used && compare(&rows->rows[used - 1], &rows->rows[i]) == 0)
			rows->rows[used - 1].count++;
		else
			rows->rows[used++] = rows->rows[i];
	}
	rows->count = used;
}

static void follow(struct point_rows *rows, const struct point_rows *before)
{
	size_t at = 0;

	for (size_t i = 0; i < rows->count; i++) {
		struct point_row *row = &rows->rows[i];
		while (at < before->count && compare(&before->rows[at], row) < 0)
			at++;
		bool was_there = at < before->count && compare(&before->rows[at], row) == 0;
		uint32_t count = was_there ? before->rows[at].count : 0;
		row->taken = was_there ? before->rows[at].taken : 0;
		row->late = row->count > count ? row->count - count : 0;
		rows->has_late |= row->late > 0;
	}
}

void point_rows_sort(struct point_rows *rows, const struct point_rows *before)
{
	if (rows->count)
		qsort(rows->rows, rows->count, sizeof *rows->rows, compare);
	join(rows);
	if (before)
		follow(rows, before);
}

/* The first row that is not before the wanted one. */
static size_t find(const struct point_rows *rows, const struct point_row *wanted)
{
	size_t from = 0, to = rows->count;

	while (from < to) {
		size_t middle = from + (to - from) / 2;
		if (compare(&rows->rows[middle], wanted) < 0)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

struct point_row *point_rows_take(struct point_rows *rows, const struct point_key *key, bool is_time_assumed)
{
	struct point_row wanted = row_of(key);

	if (is_time_assumed)
		wanted.ts_ms = INT64_MIN;
	for (size_t at = find(rows, &wanted); at < rows->count; at++) {
		struct point_row *row = &rows->rows[at];
		bool is_it = row->step == wanted.step && row->value == wanted.value &&
			     (is_time_assumed || row->ts_ms == wanted.ts_ms);
		if (!is_it)
			break;
		if (row->taken + row->pending >= row->count)
			continue;
		row->pending++;
		return row;
	}
	return NULL;
}

void point_rows_drop_late(struct point_rows *rows)
{
	for (size_t i = 0; i < rows->count && rows->has_late; i++) {
		struct point_row *row = &rows->rows[i];
		uint32_t left = row->count > row->taken ? row->count - row->taken : 0;
		row->taken += left < row->late ? left : row->late;
		row->late = 0;
	}
	rows->has_late = false;
}
