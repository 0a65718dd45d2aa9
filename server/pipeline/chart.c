/* Points of a chart: sealed chunks, then the tail; folded into buckets of one width over all streams asked for. */
#include "pipeline/internal.h"

#include <math.h>
#include <stdlib.h>

static enum status out_of_memory(struct error *err)
{
	return error_set(err, ERR_MEMORY, "out of memory");
}

struct walk {
	struct store_reader *reader;
	const struct job_view *view;
	const struct chart_query *query;
	enum status (*take)(void *context, const struct stream_view *stream, const struct series_view *series,
		const struct point *point, int64_t x, struct error *err);
	void *context;
	struct zstd *zstd;
	int64_t origin_ms;
};

static int64_t x_of(const struct walk *walk, const struct point *point)
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

static bool is_wanted(const struct walk *walk, const struct stream_view *stream, const struct point *point, int64_t x)
{
	if (x < walk->query->from || x > walk->query->to)
		return false;
	if (walk->query->attempts == ATTEMPTS_LIVE)
		return !point_is_superseded(point, stream->attempt_starts, stream->attempt_start_count);
	return walk->query->attempts == ATTEMPTS_ALL || point->attempt == (uint32_t)walk->query->attempts;
}

static enum status take_points(struct walk *walk, const struct stream_view *stream, const struct series_view *series,
	const struct point *points, size_t count, struct error *err)
{
	for (size_t i = 0; i < count; i++) {
		int64_t x = x_of(walk, &points[i]);
		if (is_wanted(walk, stream, &points[i], x))
			TRY(walk->take(walk->context, stream, series, &points[i], x, err));
	}
	return OK;
}

/* Does a chunk lie outside the window altogether? */
static bool is_outside(const struct walk *walk, const struct chunk_row *row)
{
	bool is_step = walk->query->axis == AXIS_STEP;
	int64_t origin = walk->query->axis == AXIS_RELATIVE ? walk->origin_ms : 0;
	int64_t first = is_step ? row->first_step : row->first_ms - origin,
		last = is_step ? row->last_step : row->last_ms - origin;

	return last < walk->query->from || first > walk->query->to;
}

/* What does not unpack is our damage, not a mistake of the one who asks. */
static enum status unpack_chunk(struct walk *walk, const struct series_view *series, const struct chunk_row *row,
	struct point *points, size_t *count, struct error *err)
{
	struct error cause;
	enum status status = chunk_unpack(row->data, walk->zstd, points, count, &cause);

	if (status == OK)
		return OK;
	if (status == ERR_MEMORY)
		return out_of_memory(err);
	return error_set(err, ERR_IO, "series %u: the chunk with point %llu is damaged: %s", series->series_id,
		(unsigned long long)row->first_ordinal, cause.text);
}

static enum status walk_chunks(struct walk *walk, const struct stream_view *stream, const struct series_view *series,
	struct point *points, struct error *err)
{
	struct chunk_row row;
	size_t count;

	for (uint64_t at = 0; at < series->sealed_points; at = row.first_ordinal + row.point_count) {
		AUTO(arena) arena = arena_new();
		if (!arena)
			return out_of_memory(err);
		TRY(store_read_chunk(walk->reader, arena, walk->view->row.job_id, series->series_id, at, &row, err));
		if (!row.point_count || row.first_ordinal > at)
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

static enum status walk_series(struct walk *walk, const struct stream_view *stream, const struct series_view *series,
	struct point *points, struct error *err)
{
	TRY(walk_chunks(walk, stream, series, points, err));
	return take_points(walk, stream, series, series->tail, series->tail_count, err);
}

static int64_t origin_of(const struct job_view *view)
{
	int64_t origin = INT64_MAX;

	for (size_t i = 0; i < view->stream_count; i++)
		if (view->streams[i].first_ms && view->streams[i].first_ms < origin)
			origin = view->streams[i].first_ms;
	return origin == INT64_MAX ? 0 : origin;
}

enum status pipeline_each_point(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	const struct job_view *view, const struct chart_query *query,
	enum status (*take)(void *context, const struct stream_view *stream, const struct series_view *series,
		const struct point *point, int64_t x, struct error *err),
	void *context, struct error *err)
{
	AUTO(zstd) zstd = zstd_new();
	struct walk walk = {reader, view, query, take, context, zstd, origin_of(view)};
	struct point *points = arena_alloc(arena, CHUNK_MAX_POINTS * sizeof *points);

	(void)pipeline;
	if (!zstd || !points)
		return out_of_memory(err);
	for (size_t i = 0; i < view->stream_count; i++)
		for (size_t j = 0; j < view->streams[i].series_count; j++)
			if (span_equal(view->streams[i].series[j].metric, query->metric))
				TRY(walk_series(&walk, &view->streams[i], &view->streams[i].series[j], points, err));
	return OK;
}

/* ---- buckets ---- */

struct folding {
	struct bucket *table; /* by (x - first_x) / width */
	size_t size;
	int64_t base;
	int64_t width; /* a power of two: buckets are anchored at 0 and never reshuffle as points come */
	uint64_t total;
	const struct job_view *view;
};

static void open_bucket(struct bucket *bucket, const struct point *point, int64_t x, uint32_t stream)
{
	*bucket = (struct bucket){.x = x,
		.last_x = x,
		.first = point->value,
		.last = point->value,
		.min = NAN,
		.max = NAN,
		.first_line = point->line,
		.first_stream = stream,
		.attempt = point->attempt,
		.min_line = NO_LINE,
		.max_line = NO_LINE};
}

static void add_finite(struct bucket *bucket, const struct point *point, int64_t x, uint32_t stream)
{
	if (!bucket->count || point->value < bucket->min) {
		bucket->min = point->value;
		bucket->min_x = x;
		bucket->min_line = point->line;
		bucket->min_stream = stream;
	}
	if (!bucket->count || point->value > bucket->max) {
		bucket->max = point->value;
		bucket->max_x = x;
		bucket->max_line = point->line;
		bucket->max_stream = stream;
	}
	bucket->count++;
	bucket->sum += point->value;
}

static enum status fold_point(void *context, const struct stream_view *stream, const struct series_view *series,
	const struct point *point, int64_t x, struct error *err)
{
	struct folding *folding = context;
	uint32_t number = (uint32_t)(stream - folding->view->streams);
	size_t at = (size_t)((uint64_t)(x - folding->base) / (uint64_t)folding->width);

	(void)series;
	(void)err;
	if (at >= folding->size)
		return OK; /* came after the range was taken: the next look shows it */
	struct bucket *bucket = &folding->table[at];
	bool is_new = bucket->count + bucket->nan_count + bucket->inf_count + bucket->neg_inf_count == 0;
	if (is_new)
		open_bucket(bucket, point, x, number);
	folding->total++;
	if (isnan(point->value))
		bucket->nan_count++;
	else if (isinf(point->value))
		*(point->value > 0 ? &bucket->inf_count : &bucket->neg_inf_count) += 1;
	else
		add_finite(bucket, point, x, number);
	/* first and last are of one stream, the lowest one in the bucket: mixing streams would draw a zig-zag */
	if (bucket->first_stream != number)
		return OK;
	if (x >= bucket->last_x) {
		bucket->last_x = x;
		bucket->last = point->value;
	}
	if (x < bucket->x) {
		bucket->x = x;
		bucket->first = point->value;
		bucket->first_line = point->line;
	}
	return OK;
}

/* The range of x over all points asked for; false: there are none. */
static bool find_range(const struct job_view *view, const struct chart_query *query, int64_t *low, int64_t *high)
{
	int64_t origin = query->axis == AXIS_RELATIVE ? origin_of(view) : 0;
	bool has_any = false;

	*low = INT64_MAX;
	*high = INT64_MIN;
	for (size_t i = 0; i < view->stream_count; i++)
		for (size_t j = 0; j < view->streams[i].series_count; j++) {
			const struct series_view *series = &view->streams[i].series[j];
			if (!span_equal(series->metric, query->metric) || !(series->sealed_points + series->tail_count))
				continue;
			bool is_step = query->axis == AXIS_STEP;
			int64_t first = is_step ? series->min_step : series->min_ms - origin;
			int64_t last = is_step ? series->max_step : series->max_ms - origin;
			*low = first < *low ? first : *low;
			*high = last > *high ? last : *high;
			has_any = true;
		}
	*low = query->from > *low ? query->from : *low;
	*high = query->to < *high ? query->to : *high;
	return has_any && *low <= *high;
}

static int64_t floor_to(int64_t x, int64_t width)
{
	return x & ~(width - 1); /* width is a power of two; rounds towards minus infinity */
}

static enum status lay_out(
	struct folding *folding, struct arena *arena, int64_t low, int64_t high, size_t buckets, struct error *err)
{
	folding->width = 1;
	while ((uint64_t)(floor_to(high, folding->width) - floor_to(low, folding->width)) / (uint64_t)folding->width >=
			buckets &&
		folding->width < INT64_MAX / 4)
		folding->width *= 2;
	folding->base = floor_to(low, folding->width);
	folding->size =
		(size_t)((uint64_t)(floor_to(high, folding->width) - folding->base) / (uint64_t)folding->width) + 1;
	folding->table = arena_alloc(arena, folding->size * sizeof *folding->table);
	if (!folding->table)
		return out_of_memory(err);
	memset(folding->table, 0, folding->size * sizeof *folding->table);
	return OK;
}

static const struct series_view *find_series(const struct job_view *view, struct span metric, bool by_role)
{
	for (size_t i = 0; i < view->stream_count; i++)
		for (size_t j = 0; j < view->streams[i].series_count; j++) {
			const struct series_view *series = &view->streams[i].series[j];
			if (span_equal(by_role ? span_from(role_name(series->role)) : series->metric, metric))
				return series;
		}
	return NULL;
}

/* A metric by its name; else, for the name of a role, the job's first series of that role. */
static enum status resolve_metric(
	const struct job_view *view, const struct chart_query *query, struct span *metric, struct error *err)
{
	const struct series_view *series = find_series(view, query->metric, false);

	if (!series)
		series = find_series(view, query->metric, true);
	if (!series)
		return error_set_field(err, ERR_NOT_FOUND, "metric", "job '%.*s' has no metric '%.*s'%s",
			SPAN_ARGS(view->row.name), SPAN_ARGS(query->metric),
			query->stream.len ? " in this stream" : "");
	*metric = series->metric;
	return OK;
}

enum status pipeline_read_chart(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	struct span job, const struct chart_query *asked, struct chart *out, struct error *err)
{
	struct folding folding = {.width = 1};
	struct chart_query resolved = *asked, *query = &resolved;
	int64_t low, high;

	*out = (struct chart){.bucket_width = 1};
	TRY(pipeline_view_job(
		pipeline, reader, arena, job, query->stream, query->metric, VIEW_SERIES | VIEW_TAILS, &out->view, err));
	TRY(resolve_metric(&out->view, asked, &resolved.metric, err));
	out->metric = resolved.metric;
	if (!find_range(&out->view, query, &low, &high))
		return OK;
	TRY(lay_out(&folding, arena, low, high, query->buckets, err));
	folding.view = &out->view;
	TRY(pipeline_each_point(pipeline, reader, arena, &out->view, query, fold_point, &folding, err));
	for (size_t i = 0; i < folding.size; i++) {
		const struct bucket *bucket = &folding.table[i];
		if (bucket->count + bucket->nan_count + bucket->inf_count + bucket->neg_inf_count)
			folding.table[out->count++] = *bucket;
	}
	out->buckets = folding.table;
	out->total_points = folding.total;
	out->bucket_width = folding.width;
	return OK;
}
