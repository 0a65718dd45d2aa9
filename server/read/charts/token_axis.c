#include "read/charts/token_axis.h"

#include "model/metrics/consumed.h"
#include "model/metrics/stream_name.h"
#include "read/charts/chart.h"
#include "read/charts/chart_query.h"
#include "read/view.h"

#include <math.h>

enum { BUCKETS = 2000 };

static bool rises(const struct summary *summary)
{
	return summary->count > 1 && summary->max > summary->min;
}

/* What the trainer prints of it, else what follows from batch and length. */
static struct span find_metric(const struct job_view *view)
{
	struct span derived = SPAN("");

	for (size_t i = 0; i < view->stream_count; i++)
		for (size_t j = 0; !stream_is_system(view->streams[i].name) && j < view->streams[i].series_count; j++) {
			const struct series_view *series = &view->streams[i].series[j];
			if (!rises(&series->summary))
				continue;
			if (consumed_of(series->metric) == CONSUMED_TOKENS)
				return series->metric;
			if (span_equal(series->metric, SPAN("derived:tokens")))
				derived = series->metric;
		}
	return derived;
}

static enum status fill(struct token_axis *axis, struct arena *arena, const struct chart *chart, struct error *err)
{
	axis->steps = arena_alloc(arena, (chart->count + 1) * sizeof *axis->steps);
	axis->tokens = arena_alloc(arena, (chart->count + 1) * sizeof *axis->tokens);
	if (!axis->steps || !axis->tokens)
		return error_no_memory(err);
	axis->count = 0;
	for (size_t i = 0; i < chart->count; i++) {
		const struct bucket *bucket = &chart->buckets[i];
		if (!bucket->count || (axis->count && bucket->max <= axis->tokens[axis->count - 1]))
			continue;
		axis->steps[axis->count] = (double)bucket->max_x;
		axis->tokens[axis->count++] = bucket->max;
	}
	return OK;
}

enum status token_axis_read(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	struct span job, struct token_axis *out, struct error *err)
{
	struct job_view view;
	struct chart chart;

	*out = (struct token_axis){.count = 0};
	TRY(view_read_job(pipeline, reader, arena, job, SPAN(""), SPAN(""), VIEW_SERIES, &view, err));
	struct chart_query query = {.metric = find_metric(&view),
		.stream = SPAN(""),
		.axis = AXIS_STEP,
		.from = INT64_MIN,
		.to = INT64_MAX,
		.buckets = BUCKETS,
		.attempts = ATTEMPTS_LIVE};
	if (query.metric.len) {
		TRY(chart_read(pipeline, reader, arena, job, &query, &chart, err));
		TRY(fill(out, arena, &chart, err));
	}
	if (out->count >= 2)
		return OK;
	return error_set_field(err, ERR_NOT_FOUND, "x",
		"job '%.*s' counts no tokens: none of its metrics is a count of them that rises", SPAN_ARGS(job));
}

static double along(const double *from, const double *to, size_t count, double x)
{
	size_t low = 0, high = count - 2;

	while (low < high) {
		size_t middle = (low + high + 1) / 2;
		if (from[middle] <= x)
			low = middle;
		else
			high = middle - 1;
	}
	return to[low] + (x - from[low]) / (from[low + 1] - from[low]) * (to[low + 1] - to[low]);
}

double token_axis_tokens(const struct token_axis *axis, double step)
{
	return along(axis->steps, axis->tokens, axis->count, step);
}

double token_axis_step(const struct token_axis *axis, double tokens)
{
	return along(axis->tokens, axis->steps, axis->count, tokens);
}
