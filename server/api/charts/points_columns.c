/* The shape in which POST /api/v1/points takes columns. */
#include "api/charts/points_columns.h"

#include "base/json/json_write.h"

#include <math.h>
#include <string.h>

enum { KEPT_MAX = 16384 };
enum column { STEP, TS_MS, VALUE, ATTEMPT, LINE, WORK };

double points_work_of(const struct work_axis *work, const struct point *point)
{
	return round(work_axis_tokens(work, (double)point->step)) * work->each;
}

static int64_t line_of(const struct point *point)
{
	return point->line == NO_LINE ? -1 : (int64_t)point->line;
}

static void write_cell(const struct points_columns *columns, const struct point *point, struct buf *out)
{
	struct json_writer w = json_writer_on(out);

	switch ((enum column)columns->column) {
	case STEP:
		json_i64(&w, point->step);
		break;
	case TS_MS:
		json_i64(&w, point->ts_ms);
		break;
	case VALUE:
		json_double(&w, point->value);
		break;
	case ATTEMPT:
		json_i64(&w, point->attempt);
		break;
	case LINE:
		json_i64(&w, line_of(point));
		break;
	case WORK:
		json_double(&w, points_work_of(columns->work, point));
		break;
	}
}

static void open_column(struct points_columns *columns, struct buf *out)
{
	static const char *const names[] = {"step", "ts_ms", "value", "attempt", "line"};

	columns->written = columns->hash = 0;
	buf_printf(out, ",\"%s\":[", columns->column == WORK ? columns->work_name : names[columns->column]);
}

static void open_series(struct points_columns *columns, struct span metric, struct span stream, struct buf *out)
{
	struct json_writer w = json_writer_on(out), behind = json_writer_on(out);

	buf_append_text(out, columns->has_before ? ",{\"metric\":" : "{\"metric\":");
	columns->has_before = true;
	json_span(&w, metric);
	buf_append_text(out, ",\"stream\":");
	json_span(&behind, stream);
	columns->column = STEP;
	open_column(columns, out);
}

static void mix(uint64_t *hash, uint64_t value)
{
	*hash = (*hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
	*hash ^= *hash >> 29;
}

static void add_cell(struct points_columns *columns, const struct point *point, struct buf *out)
{
	uint64_t bits;

	memcpy(&bits, &point->value, sizeof bits);
	mix(&columns->hash, (uint64_t)point->step);
	mix(&columns->hash, (uint64_t)point->ts_ms);
	mix(&columns->hash, bits);
	mix(&columns->hash, point->line ^ (uint64_t)point->attempt << 32);
	if (columns->written++)
		buf_append_char(out, ',');
	write_cell(columns, point, out);
}

/* All columns are of the same points: what came behind those of the first one is left out, and where they are others by now nothing fits. */
static enum status close_column(
	struct points_columns *columns, struct buf *out, enum columns_want *want, struct error *err)
{
	if (columns->column == STEP) {
		columns->count = columns->written;
		columns->first_hash = columns->hash;
	}
	if (columns->written != columns->count || columns->hash != columns->first_hash)
		return error_set(err, ERR_CONFLICT, "the points were changed while they were read: read them again");
	buf_append_char(out, ']');
	columns->column++;
	*want = COLUMNS_FROM_FIRST;
	if (columns->column < WORK || (columns->column == WORK && columns->work_name)) {
		open_column(columns, out);
		return OK;
	}
	buf_append_char(out, '}');
	*want = COLUMNS_DONE;
	return OK;
}

static enum status take_cells(struct points_columns *columns, const struct points_batch *batch, struct buf *out,
	enum columns_want *want, struct error *err)
{
	bool is_first = columns->column == STEP;

	for (size_t i = 0; i < batch->count && (is_first || columns->written < columns->count); i++)
		add_cell(columns, &batch->points[i], out);
	*want = COLUMNS_NEXT;
	return batch->is_end || (!is_first && columns->written == columns->count)
		       ? close_column(columns, out, want, err)
		       : OK;
}

static enum status keep(
	struct points_columns *columns, struct arena *arena, const struct points_batch *batch, struct error *err)
{
	if (!columns->kept && !(columns->kept = arena_alloc(arena, KEPT_MAX * sizeof *columns->kept)))
		return error_no_memory(err);
	if (batch->count)
		memcpy(columns->kept + columns->kept_count, batch->points, batch->count * sizeof *batch->points);
	columns->kept_count += batch->count;
	return OK;
}

/* The last batch has come, and all are there. */
static enum status write_kept(struct points_columns *columns, struct span metric, struct span stream, struct buf *out,
	enum columns_want *want, struct error *err)
{
	struct points_batch all = {.points = columns->kept, .count = columns->kept_count, .is_end = true};

	*want = COLUMNS_DONE;
	columns->count = 0;
	if (!all.count)
		return OK;
	open_series(columns, metric, stream, out);
	do
		TRY(take_cells(columns, &all, out, want, err));
	while (*want != COLUMNS_DONE);
	return OK;
}

enum status points_columns_take(struct points_columns *columns, struct arena *arena, struct span metric,
	struct span stream, const struct points_batch *batch, struct buf *out, enum columns_want *want,
	struct error *err)
{
	enum status status = OK;

	if (columns->is_long) {
		status = take_cells(columns, batch, out, want, err);
	} else if (columns->kept_count + batch->count > KEPT_MAX) {
		columns->is_long = true;
		*want = COLUMNS_FROM_FIRST;
		open_series(columns, metric, stream, out);
	} else {
		TRY(keep(columns, arena, batch, err));
		*want = COLUMNS_NEXT;
		if (batch->is_end)
			status = write_kept(columns, metric, stream, out, want, err);
	}
	if (*want == COLUMNS_DONE) {
		columns->is_long = false;
		columns->kept_count = 0;
	}
	return status;
}
