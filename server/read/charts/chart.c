/* Buckets of a chart, folded over all streams asked for. */
#include "read/charts/chart.h"

#include "read/charts/folding.h"
#include "read/charts/main_series.h"
#include "read/view.h"
#include "state/streams/work_times.h"

#include <math.h>
#include <string.h>

struct drawing {
	struct folding folding; /* what it gives its points and buckets */
	struct bucket *table;
	uint64_t total;
};

static struct bucket *bucket_at(const struct drawing *drawing, int64_t x)
{
	size_t at = folding_place(&drawing->folding, x);

	return at < drawing->folding.size ? &drawing->table[at] : NULL;
}

/* Of the stream at work, its index into the view's. */
static uint32_t stream_at(const struct drawing *drawing)
{
	return (uint32_t)(drawing->folding.stream - drawing->folding.view->streams);
}

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
static bool may_merge_ends(const struct drawing *drawing, const struct bucket *bucket, uint32_t stream)
{
	return drawing->folding.axis == PYRAMID_TIME || bucket->first_stream == stream;
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
	struct drawing *drawing = context;
	struct bucket *bucket = bucket_at(drawing, from->first_x);
	uint32_t stream = stream_at(drawing);
	struct pyramid_bucket converted;

	if (!bucket)
		return;
	if (drawing->folding.factor) {
		converted = in_unit(from, drawing->folding.factor);
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
	drawing->total += from->count + from->nan_count + from->inf_count + from->neg_inf_count;
	if (may_merge_ends(drawing, bucket, stream))
		merge_ends(bucket, first, last, stream, attempt);
}

/* As a bucket of this point alone, in a tenth of the time. */
static void fold_point(void *context, const struct point *point)
{
	struct drawing *drawing = context;
	struct spot spot = {pyramid_x(drawing->folding.axis, point),
		time_unit_convert(point->value, drawing->folding.factor), point->line};
	struct bucket *bucket = bucket_at(drawing, spot.x);
	uint32_t stream = stream_at(drawing);

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
	drawing->total++;
	if (may_merge_ends(drawing, bucket, stream))
		merge_ends(bucket, spot, spot, stream, point->attempt);
}

static enum status make_table(struct drawing *drawing, struct arena *arena, struct error *err)
{
	size_t size = drawing->folding.size * sizeof *drawing->table;

	drawing->table = arena_alloc(arena, size);
	if (!drawing->table)
		return error_no_memory(err);
	memset(drawing->table, 0, size);
	return OK;
}

static void finish(struct drawing *drawing, int64_t origin, struct chart *out)
{
	for (size_t i = 0; i < drawing->folding.size; i++) {
		struct bucket bucket = drawing->table[i];
		if (!values_of(&bucket))
			continue;
		bucket.x -= origin;
		bucket.last_x -= origin;
		bucket.min_x -= origin;
		bucket.max_x -= origin;
		drawing->table[out->count++] = bucket;
	}
	out->buckets = drawing->table;
	out->total_points = drawing->total;
	out->bucket_width = (int64_t)1 << drawing->folding.shift;
	out->unit = drawing->folding.first ? drawing->folding.first->unit : SPAN("");
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
	struct drawing drawing = {.folding = {.reader = reader,
					  .zstd = zstd,
					  .view = &out->view,
					  .query = query,
					  .take_bucket = fold_bucket,
					  .take_point = fold_point}};
	int64_t origin = query->axis == AXIS_RELATIVE ? job_believed_first_ms(&out->view) : 0;

	if (query->axis == AXIS_RELATIVE)
		query->axis = AXIS_TIME;
	query->from = add_clamped(query->from, origin);
	query->to = add_clamped(query->to, origin);
	TRY(folding_lay_out(&drawing.folding, arena, err));
	if (!drawing.folding.size)
		return OK;
	TRY(make_table(&drawing, arena, err));
	for (size_t i = 0; i < out->view.stream_count; i++)
		TRY(folding_fold_stream(&drawing.folding, &out->view.streams[i], err));
	finish(&drawing, origin, out);
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
