/* The points of series, sealed ones from their chunks and then the tail, to whom they are wanted by. */
#include "read/charts/points_walk.h"

#include "state/streams/work_times.h"
#include "store/pack/chunk.h"
#include "store/points.h"

static int64_t x_of(const struct points_walk *walk, const struct point *point)
{
	switch (walk->query->axis) {
	case AXIS_TIME:
		return point->ts_ms;
	case AXIS_RELATIVE:
		return point->ts_ms - walk->origin_ms;
	default:
		return point->step;
	}
}

static bool is_wanted(
	const struct points_walk *walk, struct attempt_starts starts, const struct point *point, int64_t x)
{
	if (x < walk->query->from || x > walk->query->to)
		return false;
	if (walk->query->attempts == ATTEMPTS_LIVE)
		return !point_is_superseded(point, starts);
	return walk->query->attempts == ATTEMPTS_ALL || point->attempt == (uint32_t)walk->query->attempts;
}

static enum status take_points(struct points_walk *walk, const struct stream_view *stream,
	const struct series_view *series, const struct point *points, size_t count, struct error *err)
{
	struct attempt_starts starts = stream_view_starts(stream, series);

	for (size_t i = 0; i < count; i++) {
		int64_t x = x_of(walk, &points[i]);
		if (is_wanted(walk, starts, &points[i], x))
			TRY(walk->take(walk->context, stream, series, &points[i], x, err));
	}
	return OK;
}

/* Does a chunk lie outside the window altogether? */
static bool is_outside(const struct points_walk *walk, const struct chunk_row *row)
{
	bool is_step = walk->query->axis == AXIS_STEP;
	int64_t origin = walk->query->axis == AXIS_RELATIVE ? walk->origin_ms : 0;
	int64_t first = is_step ? row->first_step : row->first_ms - origin,
		last = is_step ? row->last_step : row->last_ms - origin;

	return last < walk->query->from || first > walk->query->to;
}

/* What does not unpack is our damage, not a mistake of the one who asks. */
static enum status unpack_chunk(struct points_walk *walk, const struct series_view *series, const struct chunk_row *row,
	struct point *points, size_t *count, struct error *err)
{
	struct error cause;
	enum status status = chunk_unpack(row->data, walk->zstd, points, count, &cause);

	if (status == OK)
		return OK;
	if (status == ERR_MEMORY)
		return error_no_memory(err);
	return error_set(err, ERR_IO, "series %u: the chunk with point %llu is damaged: %s", series->series_id,
		(unsigned long long)row->first_ordinal, cause.text);
}

static enum status read_chunk(const struct points_walk *walk, const struct series_view *series, uint64_t at,
	struct arena *arena, struct chunk_row *row, struct error *err)
{
	bool is_step = walk->query->axis == AXIS_STEP;
	struct chunk_row asked = {.job_id = walk->view->row.job_id,
		.series_id = series->series_id,
		.first_ordinal = at,
		.first_step = is_step ? walk->query->from : INT64_MIN,
		.last_step = is_step ? walk->query->to : INT64_MAX,
		.first_ms = is_step ? INT64_MIN : walk->query->from,
		.last_ms = is_step ? INT64_MAX : walk->query->to};

	return walk->skips ? store_read_chunk_between(walk->reader, arena, &asked, row, err)
			   : store_read_chunk(walk->reader, arena, asked.job_id, asked.series_id, at, row, err);
}

static enum status walk_chunks(struct points_walk *walk, const struct stream_view *stream,
	const struct series_view *series, uint64_t from_ordinal, struct point *points, struct error *err)
{
	struct chunk_row row;
	size_t count;

	for (uint64_t at = from_ordinal; at < series->sealed_points; at = row.first_ordinal + row.point_count) {
		AUTO(arena) arena = arena_new();
		if (!arena)
			return error_no_memory(err);
		TRY(read_chunk(walk, series, at, arena, &row, err));
		if (walk->skips && !row.point_count)
			return OK;
		if (!walk->skips && (!row.point_count || row.first_ordinal > at))
			return error_set(err, ERR_IO, "series %u: the chunk with point %llu is missing",
				series->series_id, (unsigned long long)at);
		if (is_outside(walk, &row))
			continue;
		TRY(unpack_chunk(walk, series, &row, points, &count, err));
		if (row.first_ordinal + count >
			series->sealed_points) /* sealed since RAM was looked at: these are in the tail */
			count = (size_t)(series->sealed_points - row.first_ordinal);
		TRY(take_points(walk, stream, series, points, count, err));
	}
	return OK;
}

enum status points_walk_series(struct points_walk *walk, const struct stream_view *stream,
	const struct series_view *series, uint64_t from_ordinal, struct point *points, struct error *err)
{
	size_t skipped = from_ordinal > series->sealed_points ? (size_t)(from_ordinal - series->sealed_points) : 0;

	TRY(walk_chunks(walk, stream, series, from_ordinal, points, err));
	if (skipped >= series->tail_count)
		return OK;
	return take_points(walk, stream, series, series->tail + skipped, series->tail_count - skipped, err);
}

static bool may_have_points(const struct points_walk *walk, const struct series_view *series)
{
	const struct chart_query *query = walk->query;
	bool is_step = query->axis == AXIS_STEP;

	if (!span_equal(series->metric, query->metric))
		return false;
	if (!walk->skips)
		return true;
	return (is_step ? series->min_step : series->min_ms) <= query->to &&
	       (is_step ? series->max_step : series->max_ms) >= query->from;
}

static enum status walk_all(struct points_walk *walk, struct arena *arena, struct error *err)
{
	AUTO(zstd) zstd = NULL;
	const struct job_view *view = walk->view;
	struct point *points = NULL;

	for (size_t i = 0; i < view->stream_count; i++)
		for (size_t j = 0; j < view->streams[i].series_count; j++) {
			const struct series_view *series = &view->streams[i].series[j];
			if (!may_have_points(walk, series))
				continue;
			if (series->sealed_points &&
				!points) { /* else it has no chunk: the ranking asks for many such */
				points = arena_alloc(arena, CHUNK_MAX_POINTS * sizeof *points);
				walk->zstd = zstd = zstd_new();
			}
			if (series->sealed_points && (!points || !zstd))
				return error_no_memory(err);
			TRY(points_walk_series(walk, &view->streams[i], series, 0, points, err));
		}
	return OK;
}

enum status points_walk_all(struct store_reader *reader, struct arena *arena, const struct job_view *view,
	const struct chart_query *query, points_walk_take *take, void *context, struct error *err)
{
	struct points_walk walk = {reader, view, query, take, context, NULL, job_believed_first_ms(view), false};

	return walk_all(&walk, arena, err);
}

enum status points_walk_window(struct store_reader *reader, struct arena *arena, const struct job_view *view,
	const struct chart_query *query, points_walk_take *take, void *context, struct error *err)
{
	struct points_walk walk = {reader, view, query, take, context, NULL, 0, true};

	return walk_all(&walk, arena, err);
}
