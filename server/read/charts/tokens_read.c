#include "read/charts/tokens_read.h"

#include "extract/inputs.h"
#include "read/charts/tokens_meter.h"
#include "read/charts/work_points.h"
#include "read/view.h"
#include "store/job_facts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

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
	TRY(tokens_meter_read(pipeline, reader, arena, &view, &inputs, &meter, err));
	TRY(find_budget(reader, arena, job->job_id, inputs, out, err));
	TRY(set_consumption(pipeline, reader, arena, &view, &meter, out, err));
	out->from = keep(arena, meter.from);
	out->not_understood = keep(arena, inputs->not_understood);
	return out->budget_from.ptr && out->from.ptr && out->not_understood.ptr ? OK : error_no_memory(err);
}
