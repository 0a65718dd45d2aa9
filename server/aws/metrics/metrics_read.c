/* A metric's points by periods, out of the series that it has here. */
#include "aws/metrics/metrics.h"
#include "model/metrics/instance_metric.h"
#include "model/metrics/metric.h"
#include "model/metrics/stream_name.h"
#include "read/charts/chart_query.h"
#include "read/charts/periods.h"
#include "read/charts/points_walk.h"
#include "read/view.h"
#include "state/streams/job_view.h"

#include <math.h>

struct reading {
	struct aws_call *call;
	struct arena *arena;
	const struct metrics_window *window;
	struct metric_place place;
	metrics_take *take; /* every point */
	void *context;
	struct metric_periods *periods; /* or what they come to; neither: only what is there */
	struct metrics_series *out;
	double scale; /* of the series' values */
	struct job_view view;
};

static bool is_asked(
	const struct reading *r, const struct stream_view *stream, const struct series_view *series, bool is_exact)
{
	if (r->place.is_whole_job && metric_map_is_apart(stream->name))
		return false;
	return is_exact ? span_equal(series->metric, r->place.metric)
			: stream_view_means(stream, series, r->place.metric);
}

/* CloudWatch has a closed list of units. */
static struct span unit_of(struct span unit)
{
	struct span rest = span_from(metrics_units), word;

	while (span_next(&rest, '|', &word))
		if (span_equal(word, unit))
			return word;
	return SPAN("None");
}

/* Leaves in the view what is asked, under one name, so that one walk reads it. */
static void keep_asked(struct reading *r, bool is_exact)
{
	size_t streams = 0;

	for (size_t i = 0; i < r->view.stream_count; i++) {
		struct stream_view *stream = &r->view.streams[i];
		size_t kept = 0;
		for (size_t j = 0; j < stream->series_count; j++) {
			struct series_view series = stream->series[j];
			if (!is_asked(r, stream, &series, is_exact) ||
				!(series.sealed_points + series.tail_count + series.summary.count))
				continue;
			series.metric = r->place.metric;
			stream->series[kept++] = series;
		}
		stream->series_count = kept;
		if (kept)
			r->view.streams[streams++] = *stream;
	}
	r->view.stream_count = streams;
}

static void note_range(struct reading *r)
{
	struct metrics_series *out = r->out;

	for (size_t i = 0; i < r->view.stream_count; i++)
		for (size_t j = 0; j < r->view.streams[i].series_count; j++) {
			const struct series_view *series = &r->view.streams[i].series[j];
			if (!out->has_points)
				*out = (struct metrics_series){
					unit_of(series->unit), true, series->min_ms, series->max_ms};
			out->first_ms = series->min_ms < out->first_ms ? series->min_ms : out->first_ms;
			out->last_ms = series->max_ms > out->last_ms ? series->max_ms : out->last_ms;
		}
}

static enum status take_point(void *context, const struct stream_view *stream, const struct series_view *series,
	const struct point *point, int64_t x, struct error *err)
{
	const struct reading *r = context;

	(void)stream;
	(void)series;
	(void)x;
	return r->take(r->context, point, point->value * r->scale, err);
}

static enum status view_series(struct reading *r, bool is_exact, struct error *err)
{
	unsigned parts = VIEW_SERIES | (r->take || r->periods ? VIEW_TAILS : 0);
	struct span stream = r->place.is_whole_job ? SPAN("") : r->place.stream;
	enum status status = view_read_job(r->call->pipeline, r->call->reader, r->arena, r->place.job, stream,
		r->place.metric, parts, &r->view, err);

	if (status == ERR_NOT_FOUND) { /* whom nobody has heard of has no points */
		r->view.stream_count = 0;
		return OK;
	}
	TRY(status);
	keep_asked(r, is_exact);
	return OK;
}

/* What is said of a machine under SageMaker's names is what somebody sent so, else what sm-ship --system measured: the mean over
 * its devices, where SageMaker adds them up. */
static enum status view_measured(struct reading *r, struct error *err)
{
	const struct instance_metric *figure = instance_metric_named(r->place.metric);
	double total = 0;

	if (figure && figure->total) {
		r->place.metric = span_from(figure->total);
		TRY(view_series(r, false, err));
		if (!r->view.stream_count || !summary_has_finite(&r->view.streams[0].series[0].summary))
			return OK;
		total = summary_mean(&r->view.streams[0].series[0].summary);
		r->scale = total > 0 ? 100 / total : 1;
	}
	if (!figure)
		return OK;
	r->place.metric = span_from(figure->metric);
	TRY(view_series(r, false, err));
	for (size_t i = 0; i < r->view.stream_count; i++)
		for (size_t j = 0; j < r->view.streams[i].series_count; j++)
			r->view.streams[i].series[j].unit = SPAN("Percent");
	return OK;
}

static void merge_into_periods(void *context, int64_t ts_ms, uint64_t count, struct sum sum, double min, double max)
{
	const struct reading *r = context;

	metric_periods_merge(r->periods, ts_ms, count, sum_scaled(sum, r->scale), min * r->scale, max * r->scale);
}

static enum status add_to_periods(void *context, const struct point *point, struct error *err)
{
	const struct reading *r = context;

	return metric_periods_add(r->periods, point->ts_ms, point->value * r->scale, err);
}

static enum status walk(struct reading *r, struct error *err)
{
	struct chart_query query = {.metric = r->place.metric,
		.stream = SPAN(""),
		.axis = r->window->is_by_step ? AXIS_STEP : AXIS_TIME,
		.from = r->window->from_ms,
		.to = r->window->until_ms - 1,
		.attempts = ATTEMPTS_ALL};

	if (!r->out->has_points || (!r->take && !r->periods))
		return OK;
	if (r->take)
		return points_walk_all(r->call->reader, r->arena, &r->view, &query, take_point, r, err);
	struct period_reading asked = {.origin_ms = r->periods->origin_ms,
		.period_ms = r->periods->period_ms,
		.take_sum = r->periods->keeps_values ? NULL : merge_into_periods,
		.take_point = add_to_periods,
		.context = r};
	TRY(periods_each(r->call->pipeline, r->call->reader, r->arena, &r->view, &query, &asked, err));
	metric_periods_sort(r->periods);
	return OK;
}

static enum status read_metric(struct reading *r, const struct metric_identity *identity, struct error *err)
{
	AUTO(arena) arena = arena_new();
	struct error cause;

	*r->out = (struct metrics_series){.unit = SPAN("None")};
	if (!arena)
		return error_no_memory(err);
	r->arena = arena;
	r->scale = 1;
	enum status status = metric_map_place(arena, identity, &r->place, &cause);
	if (status == ERR_SEMANTIC)
		return aws_error(err, status, METRICS_INVALID, "%s", cause.text);
	if (status != OK)
		return error_set(err, status, "out of memory");
	bool is_machine = stream_is_system(r->place.stream);
	TRY(view_series(r, !is_machine && !r->place.is_whole_job && metric_map_is_apart(r->place.stream), err));
	if (is_machine && !r->view.stream_count)
		TRY(view_measured(r, err));
	note_range(r);
	if (r->window->unit.len && !span_equal(r->window->unit, r->out->unit))
		r->out->has_points = false;
	return walk(r, err);
}

enum status metrics_each(struct aws_call *call, const struct metric_identity *identity,
	const struct metrics_window *window, metrics_take *take, void *context, struct metrics_series *out,
	struct error *err)
{
	struct reading r = {.call = call, .window = window, .take = take, .context = context, .out = out};

	return read_metric(&r, identity, err);
}

enum status metrics_fold(struct aws_call *call, const struct metric_identity *identity,
	const struct metrics_window *window, struct metric_periods *periods, struct metrics_series *out,
	struct error *err)
{
	struct reading r = {.call = call, .window = window, .periods = periods, .out = out};

	return read_metric(&r, identity, err);
}

/* ---- periods ---- */

enum { MINUTE_MS = 60000, MINUTE_S = 60 };

int64_t metrics_origin(int64_t start_ms, int64_t period_ms)
{
	int64_t step_ms = period_ms < MINUTE_MS ? period_ms : MINUTE_MS, behind = start_ms % step_ms;

	return start_ms - (behind < 0 ? behind + step_ms : behind);
}

enum status metrics_check_period(int64_t period_s, struct error *err)
{
	enum { DAY_S = 86400 };
	bool is_short = period_s == 1 || period_s == 5 || period_s == 10 || period_s == 20 || period_s == 30;

	if (is_short || (period_s > 0 && period_s % MINUTE_S == 0 && period_s <= DAY_S * 365))
		return OK;
	return aws_error(err, ERR_SEMANTIC, METRICS_INVALID,
		"The parameter Period must be 1, 5, 10, 20, 30 or a multiple of 60, not %lld.", (long long)period_s);
}
