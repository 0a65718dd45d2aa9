/* Points of a chart: sealed chunks, then the tail; folded into buckets of one width over all streams asked for. */
#include "read/charts/chart.h"

#include "read/charts/chart_query.h"
#include "read/charts/main_series.h"
#include "read/charts/points_walk.h"
#include "read/charts/pyramid_read.h"
#include "read/view.h"
#include "state/streams/job_view.h"
#include "state/pipeline_state.h"
#include "state/streams/work_times.h"
#include "store/points.h"

#include <math.h>
#include <stdlib.h>

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

static enum status each_point(struct points_walk *walk, struct arena *arena, struct error *err)
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

enum status chart_each_point(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	const struct job_view *view, const struct chart_query *query, chart_take_point *take, void *context,
	struct error *err)
{
	struct points_walk walk = {reader, view, query, take, context, NULL, job_believed_first_ms(view), false};

	(void)pipeline;
	return each_point(&walk, arena, err);
}

enum status chart_each_point_within(struct store_reader *reader, struct arena *arena, const struct job_view *view,
	const struct chart_query *query, chart_take_point *take, void *context, struct error *err)
{
	struct points_walk walk = {reader, view, query, take, context, NULL, 0, true};

	return each_point(&walk, arena, err);
}

/* ---- buckets ---- */

enum { CHART_DECODE_POINTS = 64 * CHUNK_MAX_POINTS /* more are not read one by one: the buckets get wider */ };

struct folding {
	struct bucket *table; /* by x >> shift, from first_number on */
	size_t size;
	int64_t first_number;
	unsigned shift; /* widths are powers of two, anchored at 0: buckets never reshuffle as points come */
	uint64_t total;
	const struct chart_query *query;
	const struct job_view *view;
	const struct stream_view *stream; /* at work */
	struct attempt_starts starts; /* of the series at work */
	enum pyramid_axis axis;
	void (*take_bucket)(void *context, uint32_t attempt, const struct pyramid_bucket *bucket);
	void (*take_point)(void *context, const struct point *point);
	const struct series_view *unit_of; /* the first of them */
	int factor; /* to its unit, of the series at work, as time_unit_convert wants it */
	struct cell *cells; /* of one stream, where only means are asked for; NULL else */
};

static uint64_t values_of(const struct bucket *bucket)
{
	return bucket->count + bucket->nan_count + bucket->inf_count + bucket->neg_inf_count;
}

/* A value in its place. */
struct spot {
	int64_t x;
	double value;
	uint64_t line;
};

/* NULL: it came after the range was taken: the next look shows it. */
static struct bucket *bucket_at(const struct folding *folding, int64_t x)
{
	uint64_t at = (uint64_t)(x >> folding->shift) - (uint64_t)folding->first_number;

	return at < folding->size ? &folding->table[at] : NULL;
}

static void open_bucket(struct bucket *bucket, struct spot first, struct spot last, uint32_t stream, uint32_t attempt)
{
	*bucket = (struct bucket){.x = first.x,
		.last_x = last.x,
		.first = first.value,
		.last = last.value,
		.min = NAN,
		.max = NAN,
		.first_line = first.line,
		.first_stream = stream,
		.last_stream = stream,
		.attempt = attempt,
		.min_line = NO_LINE,
		.max_line = NO_LINE};
}

static void merge_extremes(struct bucket *bucket, struct spot low, struct spot high, uint32_t stream)
{
	if (!bucket->count || low.value < bucket->min || (low.value == bucket->min && low.x < bucket->min_x)) {
		bucket->min = low.value;
		bucket->min_x = low.x;
		bucket->min_line = low.line;
		bucket->min_stream = stream;
	}
	if (!bucket->count || high.value > bucket->max || (high.value == bucket->max && high.x < bucket->max_x)) {
		bucket->max = high.value;
		bucket->max_x = high.x;
		bucket->max_line = high.line;
		bucket->max_stream = stream;
	}
}

/*
 * By steps first and last are of one stream, the lowest one in the bucket: the streams make the same steps, and mixing them would draw a
 * zig-zag. By time they are the earliest and the latest of all; of streams with the same time, of the lowest.
 */
static bool may_merge_ends(const struct folding *folding, const struct bucket *bucket, uint32_t stream)
{
	return folding->axis == PYRAMID_TIME || bucket->first_stream == stream;
}

static void merge_ends(struct bucket *bucket, struct spot first, struct spot last, uint32_t stream, uint32_t attempt)
{
	if (last.x > bucket->last_x || (last.x == bucket->last_x && stream == bucket->last_stream)) {
		bucket->last_x = last.x;
		bucket->last = last.value;
		bucket->last_stream = stream;
	}
	if (first.x < bucket->x) {
		bucket->x = first.x;
		bucket->first = first.value;
		bucket->first_line = first.line;
		bucket->first_stream = stream;
		bucket->attempt = attempt;
	}
}

static struct pyramid_bucket in_unit(const struct pyramid_bucket *from, int factor)
{
	struct pyramid_bucket out = *from;

	out.first = time_unit_convert(out.first, factor);
	out.last = time_unit_convert(out.last, factor);
	out.min = time_unit_convert(out.min, factor);
	out.max = time_unit_convert(out.max, factor);
	out.sum = sum_convert(out.sum, factor);
	return out;
}

static void fold_bucket(void *context, uint32_t attempt, const struct pyramid_bucket *from)
{
	struct folding *folding = context;
	struct bucket *bucket = bucket_at(folding, from->first_x);
	uint32_t stream = (uint32_t)(folding->stream - folding->view->streams);
	struct pyramid_bucket converted;

	if (!bucket)
		return;
	if (folding->factor) {
		converted = in_unit(from, folding->factor);
		from = &converted;
	}
	struct spot first = {from->first_x, from->first, from->first_line}, last = {from->last_x, from->last, NO_LINE};
	if (!values_of(bucket))
		open_bucket(bucket, first, last, stream, attempt);
	if (from->count)
		merge_extremes(bucket, (struct spot){from->min_x, from->min, from->min_line},
			(struct spot){from->max_x, from->max, from->max_line}, stream);
	bucket->count += from->count;
	sum_merge(&bucket->sum, &from->sum);
	bucket->nan_count += from->nan_count;
	bucket->inf_count += from->inf_count;
	bucket->neg_inf_count += from->neg_inf_count;
	folding->total += from->count + from->nan_count + from->inf_count + from->neg_inf_count;
	if (may_merge_ends(folding, bucket, stream))
		merge_ends(bucket, first, last, stream, attempt);
}

/* As a bucket of this point alone, in a tenth of the time. */
static void fold_sealed_point(void *context, const struct point *point)
{
	struct folding *folding = context;
	struct spot spot = {
		pyramid_x(folding->axis, point), time_unit_convert(point->value, folding->factor), point->line};
	struct bucket *bucket = bucket_at(folding, spot.x);
	uint32_t stream = (uint32_t)(folding->stream - folding->view->streams);

	if (!bucket)
		return;
	if (!values_of(bucket))
		open_bucket(bucket, spot, spot, stream, point->attempt);
	if (isfinite(point->value)) {
		merge_extremes(bucket, spot, spot, stream);
		sum_add(&bucket->sum, spot.value);
		bucket->count++;
	} else {
		bucket->nan_count += isnan(point->value);
		bucket->inf_count += point->value > 0;
		bucket->neg_inf_count += point->value < 0;
	}
	folding->total++;
	if (may_merge_ends(folding, bucket, stream))
		merge_ends(bucket, spot, spot, stream, point->attempt);
}

static enum status fold_point(void *context, const struct stream_view *stream, const struct series_view *series,
	const struct point *point, int64_t x, struct error *err)
{
	(void)stream;
	(void)series;
	(void)x;
	(void)err;
	fold_sealed_point(context, point);
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

static enum status fold_series(struct folding *folding, struct points_walk *walk, const struct series_view *series,
	struct point *points, struct error *err)
{
	struct pyramid_reading reading = {.reader = walk->reader,
		.zstd = walk->zstd,
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
	uint64_t covered = 0;

	folding->starts = stream_view_starts(folding->stream, series);
	if (series->sealed_points >= PYRAMID_LAG_POINTS)
		TRY(pyramid_read(&reading, &covered, err));
	return points_walk_series(walk, folding->stream, series, covered, points, err);
}

/* The range of x over all points asked for; false: there are none. */
static bool find_range(const struct job_view *view, const struct chart_query *query, int64_t *low, int64_t *high)
{
	bool has_any = false, is_step = query->axis == AXIS_STEP;

	*low = INT64_MAX;
	*high = INT64_MIN;
	for (size_t i = 0; i < view->stream_count; i++)
		for (size_t j = 0; j < view->streams[i].series_count; j++) {
			const struct series_view *series = &view->streams[i].series[j];
			if (!stream_view_means(&view->streams[i], series, query->metric) ||
				!(series->sealed_points + series->tail_count))
				continue;
			int64_t first = is_step ? series->min_step : series->min_ms,
				last = is_step ? series->max_step : series->max_ms;
			*low = first < *low ? first : *low;
			*high = last > *high ? last : *high;
			has_any = true;
		}
	*low = query->from > *low ? query->from : *low;
	*high = query->to < *high ? query->to : *high;
	return has_any && *low <= *high;
}

static uint64_t count_buckets(int64_t low, int64_t high, unsigned shift)
{
	return (uint64_t)(high >> shift) - (uint64_t)(low >> shift); /* less one: of all of 64 bits, too */
}

/* Below the lowest level points are read one by one: not more than there is time for. */
static enum status widen_to_base(struct folding *folding, const struct points_walk *walk, int64_t low, int64_t high,
	const struct series_view *some, size_t series_count, struct error *err)
{
	unsigned base;

	if (some->sealed_points < PYRAMID_LAG_POINTS)
		return OK;
	TRY(pyramid_base(walk->reader, walk->view->row.job_id, some->series_id, folding->axis, &base, err));
	while (folding->shift < base &&
		(count_buckets(low, high, folding->shift) + 1) * series_count * PYRAMID_BASE_POINTS >>
			(base - folding->shift) > CHART_DECODE_POINTS)
		folding->shift++;
	return OK;
}

static enum status lay_out(struct folding *folding, struct arena *arena, int64_t low, int64_t high, struct error *err)
{
	folding->first_number = low >> folding->shift;
	folding->size = (size_t)count_buckets(low, high, folding->shift) + 1;
	folding->table = arena_alloc(arena, folding->size * sizeof *folding->table);
	if (!folding->table)
		return error_no_memory(err);
	memset(folding->table, 0, folding->size * sizeof *folding->table);
	return OK;
}

static bool is_of_metric(const struct stream_view *stream, const struct series_view *series, struct span metric)
{
	return series->sealed_points + series->tail_count && stream_view_means(stream, series, metric);
}

static const struct series_view *count_series(const struct job_view *view, struct span metric, size_t *count)
{
	const struct series_view *largest = NULL;

	*count = 0;
	for (size_t i = 0; i < view->stream_count; i++)
		for (size_t j = 0; j < view->streams[i].series_count; j++) {
			const struct series_view *series = &view->streams[i].series[j];
			if (!is_of_metric(&view->streams[i], series, metric))
				continue;
			++*count;
			if (!largest || series->sealed_points > largest->sealed_points)
				largest = series;
		}
	return largest;
}

/* A step's time is in ms where nobody says it, as in pace_unit. */
static struct span unit_of(const struct series_view *series)
{
	return series->role == ROLE_STEP_TIME && !series->unit.len ? SPAN("ms") : series->unit;
}

/* From the unit of this series to that of the first. */
static int factor_to(const struct series_view *first, const struct series_view *series)
{
	return time_unit_factor(unit_of(series), unit_of(first));
}

static enum status fold_all(struct folding *folding, struct points_walk *walk, struct point *points, struct error *err)
{
	const struct job_view *view = folding->view;

	for (size_t i = 0; i < view->stream_count; i++) {
		folding->stream = &view->streams[i];
		for (size_t j = 0; j < view->streams[i].series_count; j++) {
			const struct series_view *series = &view->streams[i].series[j];
			if (!is_of_metric(folding->stream, series, folding->query->metric))
				continue;
			folding->unit_of = folding->unit_of ? folding->unit_of : series;
			folding->factor = factor_to(folding->unit_of, series);
			TRY(fold_series(folding, walk, series, points, err));
		}
	}
	return OK;
}

static void finish(struct folding *folding, int64_t origin, struct chart *out)
{
	for (size_t i = 0; i < folding->size; i++) {
		struct bucket bucket = folding->table[i];
		if (!values_of(&bucket))
			continue;
		bucket.x -= origin;
		bucket.last_x -= origin;
		bucket.min_x -= origin;
		bucket.max_x -= origin;
		folding->table[out->count++] = bucket;
	}
	out->buckets = folding->table;
	out->total_points = folding->total;
	out->bucket_width = (int64_t)1 << folding->shift;
}

static int64_t add_clamped(int64_t x, int64_t more)
{
	int64_t sum;

	if (x == INT64_MIN || x == INT64_MAX)
		return x;
	return __builtin_add_overflow(x, more, &sum) ? (x < 0 ? INT64_MIN : INT64_MAX) : sum;
}

/* Relative time is time: its buckets are those of the clock, so that one pyramid serves both; what is given is moved. */
static enum status draw(struct store_reader *reader, struct arena *arena, struct chart_query *query, struct chart *out,
	struct error *err)
{
	AUTO(zstd) zstd = zstd_new();
	struct point *points = arena_alloc(arena, CHUNK_MAX_POINTS * sizeof *points);
	struct folding folding = {
		.query = query, .view = &out->view, .take_bucket = fold_bucket, .take_point = fold_sealed_point};
	struct points_walk walk = {reader, &out->view, query, fold_point, &folding, zstd, 0, false};
	int64_t low, high, origin = query->axis == AXIS_RELATIVE ? job_believed_first_ms(&out->view) : 0;
	size_t series_count;

	if (!zstd || !points)
		return error_no_memory(err);
	if (query->axis == AXIS_RELATIVE)
		query->axis = AXIS_TIME;
	folding.axis = query->axis == AXIS_STEP ? PYRAMID_STEP : PYRAMID_TIME;
	query->from = add_clamped(query->from, origin);
	query->to = add_clamped(query->to, origin);
	if (!find_range(&out->view, query, &low, &high))
		return OK;
	while (count_buckets(low, high, folding.shift) >= query->buckets && folding.shift < 62)
		folding.shift++;
	const struct series_view *largest = count_series(&out->view, query->metric, &series_count);
	TRY(widen_to_base(&folding, &walk, low, high, largest, series_count, err));
	TRY(lay_out(&folding, arena, low, high, err));
	TRY(fold_all(&folding, &walk, points, err));
	finish(&folding, origin, out);
	out->unit = folding.unit_of ? folding.unit_of->unit : SPAN("");
	return OK;
}

enum status chart_read(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena, struct span job,
	const struct chart_query *asked, struct chart *out, struct error *err)
{
	struct chart_query resolved = *asked;

	*out = (struct chart){.bucket_width = 1, .unit = SPAN("")};
	TRY(view_read_job(
		pipeline, reader, arena, job, asked->stream, asked->metric, VIEW_SERIES | VIEW_TAILS, &out->view, err));
	TRY(main_series_resolve(reader, arena, &out->view, asked, &resolved.metric, err));
	out->metric = resolved.metric;
	return draw(reader, arena, &resolved, out, err);
}

struct attempt_starts chart_starts(const struct job_view *view, struct span metric)
{
	const struct stream_view *most = NULL;

	for (size_t i = 0; i < view->stream_count; i++)
		if (!most || view->streams[i].attempt_start_count > most->attempt_start_count)
			most = &view->streams[i];
	const struct series_view *series = most ? stream_view_find(most, metric) : NULL;
	if (series)
		return stream_view_starts(most, series);
	return most ? (struct attempt_starts){most->attempt_starts, most->attempt_start_count}
		    : (struct attempt_starts){0};
}

/* ---- streams beside each other ---- */

/* A mean needs no more; millions of points a picture are added to these. */
struct cell {
	struct sum sum;
	uint64_t count; /* finite values */
	uint64_t bad_count; /* the others */
};

static struct cell *cell_at(const struct folding *folding, int64_t x)
{
	uint64_t at = (uint64_t)(x >> folding->shift) - (uint64_t)folding->first_number;

	return at < folding->size ? &folding->cells[at] : NULL; /* it came after the range was taken */
}

static void add_bucket(void *context, uint32_t attempt, const struct pyramid_bucket *from)
{
	struct folding *folding = context;
	struct cell *cell = cell_at(folding, from->first_x);

	(void)attempt;
	if (!cell)
		return;
	sum_merge(&cell->sum, &from->sum);
	cell->count += from->count;
	cell->bad_count += from->nan_count + from->inf_count + from->neg_inf_count;
	folding->total++;
}

static void add_sealed_point(void *context, const struct point *point)
{
	struct folding *folding = context;
	struct cell *cell = cell_at(folding, pyramid_x(folding->axis, point));

	if (!cell)
		return;
	if (isfinite(point->value)) {
		sum_add(&cell->sum, point->value);
		cell->count++;
	} else {
		cell->bad_count++;
	}
	folding->total++;
}

static enum status add_point(void *context, const struct stream_view *stream, const struct series_view *series,
	const struct point *point, int64_t x, struct error *err)
{
	(void)stream;
	(void)series;
	(void)x;
	(void)err;
	add_sealed_point(context, point);
	return OK;
}

/* One row of cells serves all streams in turn. */
static enum status fold_rows(
	struct folding *folding, struct points_walk *walk, struct point *points, struct heat *out, struct error *err)
{
	for (size_t i = 0; i < folding->view->stream_count; i++) {
		const struct stream_view *stream = folding->stream = &folding->view->streams[i];
		uint64_t before = folding->total;
		int factor = 0;
		memset(folding->cells, 0, folding->size * sizeof *folding->cells);
		for (size_t j = 0; j < stream->series_count; j++) {
			if (!is_of_metric(stream, &stream->series[j], folding->query->metric))
				continue;
			out->series = out->series ? out->series : &stream->series[j];
			factor = factor_to(out->series, &stream->series[j]);
			TRY(fold_series(folding, walk, &stream->series[j], points, err));
		}
		if (folding->total == before)
			continue;
		double *row = out->means + out->row_count * folding->size;
		out->row_streams[out->row_count++] = (uint32_t)i;
		for (size_t column = 0; column < folding->size; column++) {
			const struct cell *cell = &folding->cells[column];
			row[column] = cell->count ? time_unit_convert(
							    sum_mean(cell->sum, cell->count, -DBL_MAX, DBL_MAX), factor)
				      : cell->bad_count ? INFINITY
							: NAN;
		}
	}
	return OK;
}

static enum status make_room(struct arena *arena, size_t columns, size_t rows, struct heat *out, struct error *err)
{
	out->columns = columns;
	out->means = arena_alloc(arena, columns * rows * sizeof *out->means);
	out->row_streams = arena_alloc(arena, rows * sizeof *out->row_streams);
	return out->means && out->row_streams ? OK : error_no_memory(err);
}

static enum status lay_out_rows(struct store_reader *reader, struct arena *arena, const struct chart_query *query,
	struct heat *out, struct error *err)
{
	AUTO(zstd) zstd = zstd_new();
	struct point *points = arena_alloc(arena, CHUNK_MAX_POINTS * sizeof *points);
	struct folding folding = {.query = query,
		.view = &out->view,
		.axis = query->axis == AXIS_STEP ? PYRAMID_STEP : PYRAMID_TIME,
		.take_bucket = add_bucket,
		.take_point = add_sealed_point};
	struct points_walk walk = {reader, &out->view, query, add_point, &folding, zstd, 0, false};
	int64_t low, high;
	size_t series_count;

	if (!zstd || !points)
		return error_no_memory(err);
	if (!find_range(&out->view, query, &low, &high))
		return OK;
	while (count_buckets(low, high, folding.shift) >= query->buckets && folding.shift < 62)
		folding.shift++;
	const struct series_view *largest = count_series(&out->view, query->metric, &series_count);
	TRY(widen_to_base(&folding, &walk, low, high, largest, series_count, err));
	folding.first_number = low >> folding.shift;
	folding.size = (size_t)count_buckets(low, high, folding.shift) + 1;
	folding.cells = arena_alloc(arena, folding.size * sizeof *folding.cells);
	if (!folding.cells)
		return error_no_memory(err);
	TRY(make_room(arena, folding.size, out->view.stream_count, out, err));
	out->first_x = folding.first_number << folding.shift;
	out->bucket_width = (int64_t)1 << folding.shift;
	return fold_rows(&folding, &walk, points, out, err);
}

enum status chart_read_heat(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	struct span job, const struct chart_query *asked, struct heat *out, struct error *err)
{
	struct chart_query resolved = *asked;

	*out = (struct heat){.bucket_width = 1};
	TRY(view_read_job(
		pipeline, reader, arena, job, SPAN(""), asked->metric, VIEW_SERIES | VIEW_TAILS, &out->view, err));
	TRY(main_series_resolve(reader, arena, &out->view, asked, &resolved.metric, err));
	out->metric = resolved.metric;
	return lay_out_rows(reader, arena, &resolved, out, err);
}
