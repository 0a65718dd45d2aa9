#include "read/charts/tokens_meter.h"

#include "extract/inputs.h"
#include "model/metrics/consumed.h"
#include "model/metrics/stream_name.h"
#include "read/charts/main_series.h"
#include "read/charts/run_inputs.h"
#include "read/view.h"

#include <math.h>
#include <stdio.h>

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

enum status tokens_meter_read(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	const struct job_view *view, struct inputs **inputs, struct tokens_meter *out, struct error *err)
{
	struct span loss;

	TRY(run_inputs_read(
		pipeline, reader, arena, &view->row, metered, sizeof metered / sizeof *metered, inputs, err));
	TRY(main_series_find(reader, arena, view, ROLE_LOSS, &loss, err));
	find_meter(view, loss, *inputs, out);
	return OK;
}
