/* The points of a metric by buckets of one width. */
#include "read/charts/folding.h"

#include "extract/derive.h"
#include "read/charts/pyramid_read.h"
#include "store/points.h"

enum { FOLDING_DECODE_POINTS = 64 * CHUNK_MAX_POINTS /* more are not read one by one: the buckets get wider */ };

static bool is_of_metric(const struct stream_view *stream, const struct series_view *series, struct span metric)
{
	return series->sealed_points + series->tail_count && stream_view_means(stream, series, metric);
}

/* What is asked about: the range of x of all points there are, how many series have them, and which has most. */
struct extent {
	int64_t low, high;
	size_t series_count;
	const struct series_view *largest;
};

static void extend(struct extent *extent, const struct series_view *series, bool is_step)
{
	int64_t first = is_step ? series->min_step : series->min_ms, last = is_step ? series->max_step : series->max_ms;

	extent->low = first < extent->low ? first : extent->low;
	extent->high = last > extent->high ? last : extent->high;
	extent->series_count++;
	if (!extent->largest || series->sealed_points > extent->largest->sealed_points)
		extent->largest = series;
}

static struct extent find_extent(const struct job_view *view, const struct chart_query *query)
{
	struct extent extent = {.low = INT64_MAX, .high = INT64_MIN};

	for (size_t i = 0; i < view->stream_count; i++)
		for (size_t j = 0; j < view->streams[i].series_count; j++)
			if (is_of_metric(&view->streams[i], &view->streams[i].series[j], query->metric))
				extend(&extent, &view->streams[i].series[j], query->axis == AXIS_STEP);
	extent.low = query->from > extent.low ? query->from : extent.low;
	extent.high = query->to < extent.high ? query->to : extent.high;
	return extent;
}

static uint64_t count_buckets(const struct extent *extent, unsigned shift)
{
	return (uint64_t)(extent->high >> shift) -
	       (uint64_t)(extent->low >> shift); /* less one: of all of 64 bits, too */
}

/* Below the lowest level points are read one by one: not more than there is time for. */
static enum status widen_to_base(struct folding *folding, const struct extent *extent, struct error *err)
{
	unsigned base;

	if (extent->largest->sealed_points < PYRAMID_LAG_POINTS)
		return OK;
	TRY(pyramid_base(
		folding->reader, folding->view->row.job_id, extent->largest->series_id, folding->axis, &base, err));
	while (folding->shift < base &&
		(count_buckets(extent, folding->shift) + 1) * extent->series_count * PYRAMID_BASE_POINTS >>
			(base - folding->shift) > FOLDING_DECODE_POINTS)
		folding->shift++;
	return OK;
}

enum status folding_lay_out(struct folding *folding, struct arena *arena, struct error *err)
{
	struct extent extent = find_extent(folding->view, folding->query);

	folding->size = 0;
	folding->axis = folding->query->axis == AXIS_STEP ? PYRAMID_STEP : PYRAMID_TIME;
	folding->points = arena_alloc(arena, CHUNK_MAX_POINTS * sizeof *folding->points);
	if (!folding->zstd || !folding->points)
		return error_no_memory(err);
	if (!extent.series_count || extent.low > extent.high)
		return OK;
	folding->shift = 0;
	while (count_buckets(&extent, folding->shift) >= folding->query->buckets && folding->shift < 62)
		folding->shift++;
	TRY(widen_to_base(folding, &extent, err));
	folding->first_number = extent.low >> folding->shift;
	folding->size = (size_t)count_buckets(&extent, folding->shift) + 1;
	return OK;
}

static enum status take_walked_point(void *context, const struct stream_view *stream, const struct series_view *series,
	const struct point *point, int64_t x, struct error *err)
{
	struct folding *folding = context;

	(void)stream;
	(void)series;
	(void)x;
	(void)err;
	folding->take_point(folding, point);
	return OK;
}

static bool wants_attempt(void *context, uint32_t attempt, int64_t *last_step)
{
	const struct folding *folding = context;
	int asked = folding->query->attempts;

	*last_step = INT64_MAX;
	if (asked != ATTEMPTS_LIVE)
		return asked == ATTEMPTS_ALL || attempt == (uint32_t)asked;
	for (size_t i = attempt; i < folding->starts.count; i++) {
		int64_t start = folding->starts.steps[i];
		if (start == INT64_MIN)
			return false;
		*last_step = start - 1 < *last_step ? start - 1 : *last_step;
	}
	return true;
}

static enum status fold_series(struct folding *folding, const struct series_view *series, struct error *err)
{
	struct pyramid_reading reading = {.reader = folding->reader,
		.zstd = folding->zstd,
		.job_id = folding->view->row.job_id,
		.series_id = series->series_id,
		.axis = folding->axis,
		.from = folding->query->from,
		.to = folding->query->to,
		.level = folding->shift,
		.wants_attempt = wants_attempt,
		.take_bucket = folding->take_bucket,
		.take_point = folding->take_point,
		.context = folding};
	struct points_walk walk = {
		folding->reader, folding->view, folding->query, take_walked_point, folding, folding->zstd, 0, false};
	uint64_t covered = 0;

	folding->starts = stream_view_starts(folding->stream, series);
	if (series->sealed_points >= PYRAMID_LAG_POINTS)
		TRY(pyramid_read(&reading, &covered, err));
	return points_walk_series(&walk, folding->stream, series, covered, folding->points, err);
}

/* A step's time is in ms where nobody says it, as in pace_unit. */
static struct span unit_of(const struct series_view *series)
{
	return series->role == ROLE_STEP_TIME && !series->unit.len ? SPAN("ms") : series->unit;
}

enum status folding_fold_stream(struct folding *folding, const struct stream_view *stream, struct error *err)
{
	folding->stream = stream;
	for (size_t i = 0; i < stream->series_count; i++) {
		const struct series_view *series = &stream->series[i];
		if (!is_of_metric(stream, series, folding->query->metric))
			continue;
		folding->first = folding->first ? folding->first : series;
		folding->factor = time_unit_factor(unit_of(series), unit_of(folding->first));
		TRY(fold_series(folding, series, err));
	}
	return OK;
}
