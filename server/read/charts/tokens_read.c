#include "read/charts/tokens_read.h"

#include "extract/inputs.h"
#include "model/metrics/consumed.h"
#include "model/metrics/stream_name.h"
#include "read/charts/main_series.h"
#include "read/charts/run_inputs.h"
#include "read/charts/work_points.h"
#include "read/view.h"
#include "store/job_facts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- which series ---- */

/* What was consumed only grows: where the newest is no number, the most is how far it was. */
static double counted_of(const struct summary *summary)
{
	return isfinite(summary->last) ? summary->last : summary->max;
}

/* The one that is furthest: each rank may print it. */
static const struct series_view *find_counted(const struct job_view *view, enum consumed what)
{
	const struct series_view *best = NULL;

	for (size_t i = 0; i < view->stream_count; i++)
		for (size_t j = 0; !stream_is_system(view->streams[i].name) && j < view->streams[i].series_count; j++) {
			const struct series_view *series = &view->streams[i].series[j];
			if (consumed_of(series->metric) == what && summary_has_finite(&series->summary) &&
				(!best || counted_of(&series->summary) > counted_of(&best->summary)))
				best = series;
		}
	return best;
}

static const struct series_view *find_steps(const struct job_view *view, struct span loss)
{
	const struct series_view *best = NULL;

	for (size_t i = 0; loss.len && i < view->stream_count; i++)
		for (size_t j = 0; j < view->streams[i].series_count; j++) {
			const struct series_view *series = &view->streams[i].series[j];
			if (span_equal(series->metric, loss) && series->summary.count &&
				!stream_view_counts(&view->streams[i], loss) &&
				(!best || series->summary.last_step > best->summary.last_step))
				best = series;
		}
	return best;
}

static void find_meter(
	const struct job_view *view, struct span loss, const struct inputs *inputs, struct tokens_meter *out)
{
	const struct input_value *length = &inputs->items[INPUT_SEQUENCE_LENGTH],
				 *each = &inputs->items[INPUT_TOKENS_PER_STEP];

	*out = (struct tokens_meter){.tokens_each = 1};
	if ((out->series = find_counted(view, CONSUMED_TOKENS))) {
		snprintf(out->from, sizeof out->from, "%.*s", SPAN_ARGS(out->series->metric));
	} else if (length->value > 0 && (out->series = find_counted(view, CONSUMED_SAMPLES))) {
		out->tokens_each = length->value;
		snprintf(out->from, sizeof out->from, "%.*s * sequence_length (%s)", SPAN_ARGS(out->series->metric),
			length->from);
	} else if (each->value > 0 && (out->series = find_steps(view, loss))) {
		out->tokens_each = each->value;
		out->is_by_step = true;
		snprintf(out->from, sizeof out->from, "step * tokens_per_step (%s)", each->from);
	}
}

static const enum input metered[] = {INPUT_TOKEN_BUDGET, INPUT_SEQUENCE_LENGTH, INPUT_TOKENS_PER_STEP};

enum status tokens_read_meter(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	const struct job_view *view, struct inputs **inputs, struct tokens_meter *out, struct error *err)
{
	struct span loss;

	TRY(run_inputs_read(
		pipeline, reader, arena, &view->row, metered, sizeof metered / sizeof *metered, inputs, err));
	TRY(main_series_find(reader, arena, view, ROLE_LOSS, &loss, err));
	find_meter(view, loss, *inputs, out);
	return OK;
}

static void set_steps(const struct job_view *view, const struct tokens_meter *meter, struct tokens_consumed *out)
{
	const struct series_view *series = meter->series;

	out->first = (double)series->summary.first_step * meter->tokens_each;
	out->last = (double)series->summary.last_step * meter->tokens_each;
	out->step_tokens = meter->tokens_each;
	out->step_metric = series->metric;
	for (size_t i = 0; i < view->stream_count; i++)
		if (stream_view_find(&view->streams[i], series->metric) == series)
			out->step_stream = view->streams[i].name;
}

/* The run's, as charts by tokens have it: what was consumed before a count began anew is not in the count. Steps go on. */
static enum status set_consumption(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	const struct job_view *view, struct tokens_meter *meter, struct tokens_consumed *out, struct error *err)
{
	const struct series_view *series = meter->series;
	struct work_points points;

	if (!series)
		return OK;
	out->first_ms = series->min_ms;
	out->last_ms = series->summary.last_ts_ms;
	if (meter->is_by_step) {
		set_steps(view, meter, out);
		return OK;
	}
	const struct work_count by = {.metric = series->metric, .tokens_each = meter->tokens_each};
	TRY(work_points_read(pipeline, reader, arena, view->row.name, &by, WORK_OF_RUN_SO_FAR, &points, err));
	out->first = points.own_first;
	out->last = points.count ? points.tokens[points.count - 1] : NAN;
	size_t length = strlen(meter->from);
	if (points.before > 0)
		snprintf(meter->from + length, sizeof meter->from - length, " + %.17g before it began anew",
			points.before);
	return OK;
}

static struct span keep(struct arena *arena, const char *text)
{
	return *text ? arena_copy(arena, span_from(text)) : SPAN("");
}

/* Where no setting says how many steps there are, the log may: "12/500". A budget that cannot be read is another one than that of the
 * steps. */
static enum status find_budget(struct store_reader *reader, struct arena *arena, int64_t job_id,
	const struct inputs *inputs, struct tokens_consumed *out, struct error *err)
{
	const struct input_value *budget = &inputs->items[INPUT_TOKEN_BUDGET],
				 *each = &inputs->items[INPUT_TOKENS_PER_STEP];
	struct job_progress progress;
	char from[TOKENS_FROM_BYTES];

	out->budget = budget->value > 0 ? budget->value : NAN;
	out->budget_from = keep(arena, budget->from);
	if (budget->value > 0 || *inputs->not_understood || !(each->value > 0))
		return OK;
	TRY(store_read_progress(reader, arena, job_id, &progress, err));
	if (progress.total_steps <= 0)
		return OK;
	snprintf(from, sizeof from, "total_steps (%.*s) * tokens_per_step", SPAN_ARGS(progress.total_from));
	out->budget = (double)progress.total_steps * each->value;
	out->budget_from = keep(arena, from);
	return OK;
}

enum status tokens_read(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	const struct job_row *job, struct tokens_consumed *out, struct error *err)
{
	struct job_view view;
	struct inputs *inputs;
	struct tokens_meter meter;

	*out = (struct tokens_consumed){.budget = NAN, .first = NAN, .last = NAN};
	TRY(view_read_job(pipeline, reader, arena, job->name, SPAN(""), SPAN(""), VIEW_SERIES, &view, err));
	TRY(tokens_read_meter(pipeline, reader, arena, &view, &inputs, &meter, err));
	TRY(find_budget(reader, arena, job->job_id, inputs, out, err));
	TRY(set_consumption(pipeline, reader, arena, &view, &meter, out, err));
	out->from = keep(arena, meter.from);
	out->not_understood = keep(arena, inputs->not_understood);
	return out->budget_from.ptr && out->from.ptr && out->not_understood.ptr ? OK : error_no_memory(err);
}
