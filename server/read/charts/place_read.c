/* Points lie in order of arrival, so times rise, and steps within an attempt: both are found by halving. */
#include "read/charts/place_read.h"

#include "fleet/goodput.h"
#include "model/metrics/stream_name.h"
#include "read/charts/main_series.h"
#include "read/charts/points_read.h"
#include "read/view.h"
#include "state/jobs/history.h"

struct searching {
	struct pipeline *pipeline;
	struct store_reader *reader;
	struct span job, stream;
	struct chart_query query;
	uint64_t count;
	uint32_t attempt; /* of a step */
	struct place wanted;
};

/* The longest; of those that printed last up to the time, if there is one: machines may have taken each other's place. */
static const struct series_view *find_series(
	const struct job_view *view, struct span loss, const int64_t *until_ms, const struct stream_view **stream)
{
	const struct series_view *best = NULL;
	int64_t newest_ms = INT64_MIN;

	for (size_t i = 0; i < view->stream_count; i++)
		for (size_t j = 0; j < view->streams[i].series_count; j++) {
			const struct series_view *series = &view->streams[i].series[j];
			int64_t last_ms = series->summary.last_ts_ms;
			last_ms = until_ms && last_ms <= *until_ms ? last_ms : INT64_MIN;
			if (stream_is_system(view->streams[i].name) || !span_equal(series->metric, loss) ||
				(best && last_ms < newest_ms) ||
				(best && last_ms == newest_ms && series->summary.count <= best->summary.count))
				continue;
			best = series;
			newest_ms = last_ms;
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
	if (s->wanted.has_time)
		return point->ts_ms > s->wanted.ts_ms;
	return point->attempt > s->attempt || (point->attempt == s->attempt && point->step > s->wanted.step);
}

/* How many points are not behind what is wanted. */
static enum status count_before(struct searching *s, uint64_t *count, struct error *err)
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
	*count = low;
	return OK;
}

/* The last of these; *is_there: there is one. */
static enum status find(struct searching *s, struct point *out, bool *is_there, struct error *err)
{
	uint64_t count;

	TRY(count_before(s, &count, err));
	*is_there = count > 0;
	return count ? read_point(s, count - 1, out, err) : OK;
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
	if (s->wanted.has_time) {
		out->has_step = true;
		out->step = point->step;
	} else if (point->attempt == s->attempt) {
		out->has_time = true;
		out->ts_ms = point->ts_ms;
	}
}

static struct searching search_in(struct pipeline *pipeline, struct store_reader *reader, struct span job,
	const struct stream_view *stream, const struct series_view *series)
{
	return (struct searching){.pipeline = pipeline,
		.reader = reader,
		.job = job,
		.stream = stream->name,
		.query = {.metric = series->metric,
			.axis = AXIS_STEP,
			.from = INT64_MIN,
			.to = INT64_MAX,
			.attempts = ATTEMPTS_ALL},
		.count = series->sealed_points + series->tail_count};
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
	const struct series_view *series = loss.len ? find_series(&view, loss, NULL, &stream) : NULL;
	if (!series || (inout->has_time && inout->ts_ms > series->max_ms) ||
		(inout->has_step && inout->step > series->max_step))
		return OK;
	struct searching s = search_in(pipeline, reader, job, stream, series);
	s.attempt = inout->has_step ? attempt_of(stream, inout->step) : 0;
	s.wanted = *inout;
	TRY(find(&s, &point, &is_there, err));
	if (is_there)
		take(&s, &point, inout);
	return OK;
}

/* ---- the newest work ---- */

/* When the first step behind what is wanted was printed: a step up to the time was. */
static enum status first_behind(
	struct searching *s, uint32_t attempt, const struct place *wanted, int64_t *ts_ms, struct error *err)
{
	struct point point;
	uint64_t count;

	s->attempt = attempt;
	s->wanted = *wanted;
	TRY(count_before(s, &count, err));
	if (count == s->count)
		return OK; /* times that do not rise */
	TRY(read_point(s, count, &point, err));
	int64_t at_ms = goodput_within(point.ts_ms);
	*ts_ms = at_ms > *ts_ms ? at_ms : *ts_ms;
	return OK;
}

/* The last step up to the time, and its attempt; *is_there false: there is none. */
static enum status find_last(struct searching *s, const struct stream_view *stream, const struct summary *summary,
	int64_t until_ms, struct point *out, bool *is_there, struct error *err)
{
	*is_there = true;
	*out = (struct point){.ts_ms = summary->last_ts_ms, .attempt = stream->attempt};
	if (summary->count && summary->last_ts_ms && summary->last_ts_ms <= until_ms)
		return OK; /* as of nearly all, and asked for with each line that is read behind a failure */
	s->wanted = (struct place){.has_time = true, .ts_ms = until_ms};
	return find(s, out, is_there, err);
}

static enum status find_went_on(
	struct searching *s, const struct point *last, int64_t taken_up_ms, struct worked *out, struct error *err)
{
	struct place before = {.has_step = true, .step = INT64_MAX};

	if (last->attempt > 1)
		TRY(first_behind(s, last->attempt - 1, &before, &out->went_on_ms, err));
	if (taken_up_ms == INT64_MIN)
		return OK;
	before = (struct place){.has_time = true, .ts_ms = taken_up_ms - 1};
	return first_behind(s, 0, &before, &out->went_on_ms, err);
}

enum status worked_read(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena, struct span job,
	const struct history *history, int64_t until_ms, struct worked *out, struct error *err)
{
	const struct stream_view *stream = NULL;
	struct job_view view, own;
	struct span loss;
	struct point last;
	bool is_there;

	*out = (struct worked){INT64_MIN, INT64_MIN};
	TRY(view_read_job(
		pipeline, reader, arena, job, SPAN(""), span_from(role_name(ROLE_LOSS)), VIEW_SERIES, &view, err));
	TRY(main_series_find(reader, arena, &view, ROLE_LOSS, &loss, err));
	if (!loss.len || !find_series(&view, loss, &until_ms, &stream))
		return OK;
	TRY(view_read_job(pipeline, reader, arena, job, stream->name, loss, VIEW_SERIES | VIEW_TAILS, &own, err));
	const struct series_view *series = find_series(&own, loss, &until_ms, &stream);
	if (!series)
		return OK;
	struct searching s = search_in(pipeline, reader, job, stream, series);
	TRY(find_last(&s, stream, &series->summary, until_ms, &last, &is_there, err));
	if (!is_there)
		return OK;
	out->last_step_ms = goodput_within(last.ts_ms);
	return find_went_on(&s, &last, history_taken_up_ms(history, last.ts_ms), out, err);
}
