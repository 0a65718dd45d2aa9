/* GetMetricStatistics. */
#include "aws/metrics/metrics.h"

#include <stdio.h>

enum { POINTS_MAX = 1440, SECOND_MS = 1000, STATS_MAX = 15 };

struct asked_stat {
	struct span name;
	struct metric_stat stat;
	bool is_extended;
};

struct statistics {
	struct asked_stat stats[STATS_MAX];
	size_t count;
	bool has_percentiles;
};

static enum status read_stats(const struct json *names, bool is_extended, struct statistics *out, struct error *err)
{
	struct error cause;

	for (const struct json *name = json_first(names); name; name = json_next(name)) {
		struct asked_stat *asked = &out->stats[out->count];
		*asked = (struct asked_stat){.name = json_string_of(name), .is_extended = is_extended};
		enum status status = metric_stat_parse(asked->name, &asked->stat, &cause);
		if (status == ERR_MEMORY)
			return error_no_memory(err);
		if (status != OK)
			return aws_error(err, ERR_SEMANTIC, METRICS_INVALID, "%s", cause.text);
		if (is_extended != (asked->stat.kind == STAT_PERCENTILE))
			return aws_error(err, ERR_SEMANTIC, METRICS_INVALID, "'%.*s' is none of %s.",
				SPAN_ARGS(asked->name), is_extended ? "ExtendedStatistics" : "Statistics");
		out->has_percentiles = out->has_percentiles || is_extended;
		out->count++;
	}
	return OK;
}

static enum status read_statistics(const struct aws_call *call, struct statistics *out, struct error *err)
{
	*out = (struct statistics){0};
	TRY(read_stats(json_get(call->input, "Statistics"), false, out, err));
	if (out->count && json_first(json_get(call->input, "ExtendedStatistics")))
		return aws_error(err, ERR_SEMANTIC, METRICS_COMBINATION,
			"The parameters Statistics and ExtendedStatistics are mutually exclusive and you have specified both.");
	TRY(read_stats(json_get(call->input, "ExtendedStatistics"), true, out, err));
	if (!out->count)
		return aws_error(err, ERR_SEMANTIC, METRICS_COMBINATION,
			"At least one of the parameters Statistics and ExtendedStatistics must be specified.");
	return OK;
}

/* 2880 -> "2,880" */
static const char *with_commas(int64_t number, char out[32])
{
	char digits[24];
	int len = snprintf(digits, sizeof digits, "%lld", (long long)number), used = 0;

	for (int i = 0; i < len; i++) {
		if (i && (len - i) % 3 == 0)
			out[used++] = ',';
		out[used++] = digits[i];
	}
	out[used] = 0;
	return out;
}

static enum status read_window(const struct aws_call *call, struct metrics_window *window, int64_t *period_ms,
	int64_t *count, struct error *err)
{
	int64_t period_s = 0;
	char asked[32];

	if (!aws_time(json_get(call->input, "StartTime"), &window->from_ms) ||
		!aws_time(json_get(call->input, "EndTime"), &window->until_ms))
		return aws_error(
			err, ERR_SEMANTIC, METRICS_INVALID, "The parameters StartTime and EndTime must be times.");
	if (window->from_ms >= window->until_ms)
		return aws_error(err, ERR_SEMANTIC, METRICS_INVALID,
			"The parameter StartTime must be less than the parameter EndTime.");
	aws_integer(json_get(call->input, "Period"), &period_s);
	TRY(metrics_check_period(period_s, err));
	*period_ms = period_s * SECOND_MS;
	int64_t start_ms = window->from_ms;
	window->from_ms = metrics_origin(start_ms, *period_ms);
	window->unit = metrics_text(call->input, "Unit");
	int64_t asked_points = (window->until_ms - start_ms + *period_ms - 1) / *period_ms;
	*count = (window->until_ms - window->from_ms + *period_ms - 1) / *period_ms;
	if (asked_points <= POINTS_MAX)
		return OK;
	return aws_error(err, ERR_SEMANTIC, METRICS_COMBINATION,
		"You have requested up to %s datapoints, which exceeds the limit of 1,440. You may reduce the datapoints "
		"requested by increasing Period, or decreasing the time range.",
		with_commas(asked_points, asked));
}

static void write_datapoint(struct aws_call *call, const struct metric_periods *periods, size_t number,
	const struct statistics *asked, struct span unit)
{
	struct json_writer *w = &call->w;

	json_object(w);
	json_key(w, "Timestamp");
	json_seconds(w, periods->origin_ms + (int64_t)number * periods->period_ms);
	if (asked->has_percentiles) {
		json_key(w, "ExtendedStatistics");
		json_object(w);
	}
	for (size_t i = 0; i < asked->count; i++) {
		json_key_span(w, asked->stats[i].name);
		metrics_write_double(w, metric_periods_stat(periods, number, &asked->stats[i].stat));
	}
	if (asked->has_percentiles)
		json_object_end(w);
	json_put_span(w, "Unit", unit);
	json_object_end(w);
}

enum status metrics_get_statistics(struct aws_call *call, struct error *err)
{
	AUTO_DONE(metric_periods) periods = {0};
	uint64_t room = call->options->max_group_values;
	struct metric_identity identity;
	struct metrics_window window = {0};
	struct metrics_series series;
	struct statistics asked;
	int64_t period_ms = 0, count = 0;

	TRY(read_statistics(call, &asked, err));
	TRY(read_window(call, &window, &period_ms, &count, err));
	TRY(metrics_identity(call, metrics_text(call->input, "Namespace"), call->input, &identity, err));
	TRY(metric_periods_init(&periods, window.from_ms, period_ms, (size_t)count, err));
	periods.keeps_values = asked.has_percentiles;
	periods.room = &room;
	TRY(metrics_fold(call, &identity, &window, &periods, &series, err));
	json_put_span(&call->w, "Label", identity.name);
	json_key(&call->w, "Datapoints");
	json_array(&call->w);
	for (size_t i = 0; i < periods.count; i++)
		if (periods.items[i].count)
			write_datapoint(call, &periods, i, &asked, series.unit);
	json_array_end(&call->w);
	return OK;
}
