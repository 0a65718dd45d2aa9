/* Selectors: the last point before each time, or what a function makes of those in a window before it. One series is held at a time. */
#include "prometheus/eval.h"

struct selecting {
	struct eval *eval;
	const struct promql_node *node;
	const struct promql_function *function; /* NULL: the points themselves */
	const double *parameter;
	bool wants_times;
	struct prom_rows *rows;
};

/* Prometheus 2: a sample exactly at the beginning of the window is in it. */
static void fill_instants(const struct selecting *selecting, struct prom_row *row)
{
	const struct eval *eval = selecting->eval;
	const struct series_reading *reading = eval->reading;
	size_t at = 0; /* points up to the time */

	for (size_t step = 0; step < eval->steps; step++) {
		int64_t time_ms = eval_time(eval, step) - selecting->node->offset_ms;
		while (at < reading->point_count && reading->points[at].ts_ms <= time_ms)
			at++;
		if (!at || reading->points[at - 1].ts_ms < time_ms - eval->lookback_ms)
			continue;
		row->has[step] = true;
		row->values[step] = selecting->wants_times ? (double)reading->points[at - 1].ts_ms / 1000
							   : reading->points[at - 1].value;
	}
}

static enum status fill_ranges(const struct selecting *selecting, struct prom_row *row, struct error *err)
{
	const struct eval *eval = selecting->eval;
	const struct series_reading *reading = eval->reading;
	size_t first = 0, end = 0;

	for (size_t step = 0; step < eval->steps; step++) {
		int64_t to_ms = eval_time(eval, step) - selecting->node->offset_ms;
		int64_t from_ms = to_ms - selecting->node->range_ms;
		while (end < reading->point_count && reading->points[end].ts_ms <= to_ms)
			end++;
		while (first < end && reading->points[first].ts_ms < from_ms)
			first++;
		struct range_window window = {.points = reading->points + first,
			.count = end - first,
			.from_ms = from_ms,
			.to_ms = to_ms,
			.parameter = selecting->parameter ? selecting->parameter[step] : 0};
		TRY(budget_take(
			reading->budget, window.count / 64, err)); /* reading one again is cheaper than loading it */
		row->has[step] = range_value(selecting->function->id, &window, &row->values[step]);
	}
	return OK;
}

static bool has_value(const struct eval *eval, const struct prom_row *row)
{
	for (size_t step = 0; step < eval->steps; step++)
		if (row->has[step])
			return true;
	return false;
}

static enum status take_series(void *context, const struct prom_labels *labels, struct error *err)
{
	struct selecting *selecting = context;
	struct prom_row *row;

	TRY(rows_add(selecting->eval, selecting->rows, &row, err));
	row->labels = *labels;
	if (selecting->function)
		TRY(fill_ranges(selecting, row, err));
	else
		fill_instants(selecting, row);
	if (!has_value(selecting->eval, row))
		selecting->rows->count--;
	return OK;
}

static enum status select_all(struct selecting *selecting, struct error *err)
{
	struct eval *eval = selecting->eval;
	const struct promql_node *node = selecting->node;
	int64_t reach_ms = selecting->function ? node->range_ms : eval->lookback_ms;
	struct series_asked asked = {.matchers = node->matchers,
		.matcher_count = node->matcher_count,
		.from_ms = eval->start_ms - node->offset_ms - reach_ms,
		.to_ms = eval_time(eval, eval->steps - 1) - node->offset_ms,
		.needs_points = true};

	TRY(matchers_prepare(node->matchers, node->matcher_count, err));
	enum status status = series_each(eval->reading, &asked, eval->arena, take_series, selecting, err);
	matchers_done(node->matchers, node->matcher_count);
	return status;
}

enum status eval_selector(
	struct eval *eval, const struct promql_node *node, bool wants_times, struct prom_rows *out, struct error *err)
{
	struct selecting selecting = {.eval = eval, .node = node, .wants_times = wants_times, .rows = out};

	TRY(select_all(&selecting, err));
	return rows_merge(eval, out, err);
}

enum status eval_range(struct eval *eval, const struct promql_node *node, const struct promql_function *function,
	const double *parameter, struct prom_rows *out, struct error *err)
{
	struct selecting selecting = {
		.eval = eval, .node = node, .function = function, .parameter = parameter, .rows = out};

	if (node->lines)
		return eval->lines(eval, node, function->id, out, err);
	TRY(select_all(&selecting, err));
	return function->id == FN_LAST_OVER_TIME ? rows_merge(eval, out, err) : rows_drop_names(eval, out, err);
}
