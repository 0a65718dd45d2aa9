/* Points lie in order of arrival, so times rise, and steps within an attempt: both are found by halving. */
#include "read/charts/place_read.h"

#include "model/metrics/stream_name.h"
#include "read/charts/main_series.h"
#include "read/charts/points_read.h"
#include "read/view.h"

struct searching {
	struct pipeline *pipeline;
	struct store_reader *reader;
	struct span job, stream;
	struct chart_query query;
	uint64_t count;
	uint32_t attempt; /* of a step */
	const struct place *wanted;
};

static const struct series_view *longest(
	const struct job_view *view, struct span loss, const struct stream_view **stream)
{
	const struct series_view *best = NULL;

	for (size_t i = 0; i < view->stream_count; i++)
		for (size_t j = 0; j < view->streams[i].series_count; j++) {
			const struct series_view *series = &view->streams[i].series[j];
			if (stream_is_system(view->streams[i].name) || !span_equal(series->metric, loss) ||
				(best && series->summary.count <= best->summary.count))
				continue;
			best = series;
			*stream = &view->streams[i];
		}
	return best;
}

static enum status read_point(struct searching *s, uint64_t ordinal, struct point *out, struct error *err)
{
	AUTO(arena) arena = arena_new();
	struct points_batch batch;

	if (!arena)
		return error_no_memory(err);
	TRY(points_read(s->pipeline, s->reader, arena, s->job, s->stream, &s->query, ordinal, &batch, err));
	if (!batch.count)
		return error_set(err, ERR_CONFLICT, "the metrics of job '%.*s' were replaced meanwhile; try again",
			SPAN_ARGS(s->job));
	*out = batch.points[0];
	return OK;
}

static bool is_behind(const struct searching *s, const struct point *point)
{
	if (s->wanted->has_time)
		return point->ts_ms > s->wanted->ts_ms;
	return point->attempt > s->attempt || (point->attempt == s->attempt && point->step > s->wanted->step);
}

/* The last point that is not behind what is wanted; *is_there: there is one, and one behind it, or it is the place itself. */
static enum status find(struct searching *s, struct point *out, bool *is_there, struct error *err)
{
	uint64_t low = 0, high = s->count;
	struct point point;

	while (low < high) {
		uint64_t middle = low + (high - low) / 2;
		TRY(read_point(s, middle, &point, err));
		if (is_behind(s, &point))
			high = middle;
		else
			low = middle + 1;
	}
	*is_there = low > 0;
	if (low)
		TRY(read_point(s, low - 1, out, err));
	return OK;
}

/* The newest attempt that began at the step or before it. */
static uint32_t attempt_of(const struct stream_view *stream, int64_t step)
{
	for (size_t i = stream->attempt_start_count; i > 0; i--)
		if (stream->attempt_starts[i - 1] <= step)
			return (uint32_t)i;
	return 1;
}

static void take(const struct searching *s, const struct point *point, struct place *out)
{
	if (s->wanted->has_time) {
		out->has_step = true;
		out->step = point->step;
	} else if (point->attempt == s->attempt) {
		out->has_time = true;
		out->ts_ms = point->ts_ms;
	}
}

enum status place_read(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena, struct span job,
	struct place *inout, struct error *err)
{
	const struct stream_view *stream = NULL;
	struct job_view view;
	struct span loss;
	struct point point;
	bool is_there;

	if (inout->has_step == inout->has_time)
		return OK;
	TRY(view_read_job(pipeline, reader, arena, job, SPAN(""), SPAN(""), VIEW_SERIES | VIEW_TAILS, &view, err));
	TRY(main_series_find(reader, arena, &view, ROLE_LOSS, &loss, err));
	const struct series_view *series = loss.len ? longest(&view, loss, &stream) : NULL;
	if (!series || (inout->has_time && inout->ts_ms > series->max_ms) ||
		(inout->has_step && inout->step > series->max_step))
		return OK;
	const struct place wanted = *inout;
	struct searching s = {pipeline, reader, job, stream->name,
		{.metric = loss, .axis = AXIS_STEP, .from = INT64_MIN, .to = INT64_MAX, .attempts = ATTEMPTS_ALL},
		series->sealed_points + series->tail_count, wanted.has_step ? attempt_of(stream, wanted.step) : 0,
		&wanted};
	TRY(find(&s, &point, &is_there, err));
	if (is_there)
		take(&s, &point, inout);
	return OK;
}
