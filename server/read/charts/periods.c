/* Points by equal periods of time: what pyramids have as one within a period, and the others one by one. */
#include "read/charts/periods.h"

#include "read/charts/chart_query.h"
#include "read/charts/points_walk.h"
#include "read/charts/pyramid_read.h"
#include "state/streams/job_view.h"
#include "state/pipeline_state.h"

struct period_walk {
	const struct period_reading *asked;
	enum status status; /* of take_point */
	struct error *err;
};

static int64_t period_of(const struct period_reading *asked, int64_t ms)
{
	int64_t behind = ms - asked->origin_ms;

	return behind / asked->period_ms - (behind % asked->period_ms < 0);
}

static bool is_in_one_period(void *context, const struct pyramid_bucket *bucket)
{
	const struct period_reading *asked = ((struct period_walk *)context)->asked;

	return asked->take_sum && period_of(asked, bucket->first_x) == period_of(asked, bucket->last_x);
}

static bool wants_all_attempts(void *context, uint32_t attempt, int64_t *last_step)
{
	(void)context;
	(void)attempt;
	*last_step = INT64_MAX;
	return true;
}

static void take_period_bucket(void *context, uint32_t attempt, const struct pyramid_bucket *from)
{
	const struct period_reading *asked = ((struct period_walk *)context)->asked;

	(void)attempt;
	if (from->count)
		asked->take_sum(asked->context, from->first_x, from->count, from->sum, from->min, from->max);
}

static void take_period_point(void *context, const struct point *point)
{
	struct period_walk *periods = context;

	if (periods->status == OK)
		periods->status = periods->asked->take_point(periods->asked->context, point, periods->err);
}

static enum status take_walked_point(void *context, const struct stream_view *stream, const struct series_view *series,
	const struct point *point, int64_t x, struct error *err)
{
	const struct period_walk *periods = context;

	(void)stream;
	(void)series;
	(void)x;
	return periods->asked->take_point(periods->asked->context, point, err);
}

/* The widest buckets that a period may hold; their widths are powers of two. */
static unsigned level_of(int64_t period_ms)
{
	unsigned level = 0;

	while (level < PYRAMID_LEVEL_MAX && (int64_t)2 << level <= period_ms)
		level++;
	return level;
}

static enum status read_periods(struct points_walk *walk, struct period_walk *periods, const struct stream_view *stream,
	const struct series_view *series, struct point *points, struct error *err)
{
	struct pyramid_reading reading = {.reader = walk->reader,
		.zstd = walk->zstd,
		.job_id = walk->view->row.job_id,
		.series_id = series->series_id,
		.axis = PYRAMID_TIME,
		.from = walk->query->from,
		.to = walk->query->to,
		.level = level_of(periods->asked->period_ms),
		.fits = is_in_one_period,
		.wants_attempt = wants_all_attempts,
		.take_bucket = take_period_bucket,
		.take_point = take_period_point,
		.context = periods};
	uint64_t covered = 0;

	if (series->sealed_points >= PYRAMID_LAG_POINTS)
		TRY(pyramid_read(&reading, &covered, err));
	if (periods->status != OK)
		return periods->status;
	return points_walk_series(walk, stream, series, covered, points, err);
}

enum status periods_each(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	const struct job_view *view, const struct chart_query *query, const struct period_reading *asked,
	struct error *err)
{
	AUTO(zstd) zstd = zstd_new();
	struct chart_query times = *query;
	struct period_walk periods = {.asked = asked, .err = err};
	struct points_walk walk = {reader, view, &times, take_walked_point, &periods, zstd, 0, false};
	struct point *points = arena_alloc(arena, CHUNK_MAX_POINTS * sizeof *points);

	(void)pipeline;
	if (!zstd || !points)
		return error_no_memory(err);
	times.axis = AXIS_TIME;
	times.attempts = ATTEMPTS_ALL;
	for (size_t i = 0; i < view->stream_count; i++)
		for (size_t j = 0; j < view->streams[i].series_count; j++)
			if (span_equal(view->streams[i].series[j].metric, query->metric))
				TRY(read_periods(
					&walk, &periods, &view->streams[i], &view->streams[i].series[j], points, err));
	return OK;
}
