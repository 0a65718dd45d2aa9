/*
 * GetMetricData: many metrics, and expressions over them, a page of time at once. A page has the periods that begin in it, of all
 * queries; the token is where the next one begins, so that no page hangs on another.
 */
#include "aws/metrics/metric_math.h"
#include "aws/metrics/metrics.h"

#include <stdio.h>
#include <stdlib.h>

enum { SECOND_MS = 1000, DATAPOINTS_MAX = 100800 };

enum query_state { QUERY_WAITS, QUERY_RUNS, QUERY_DONE };

struct data_query {
	struct span id, label, expression;
	struct metric_identity identity;
	struct metrics_window window; /* of the page */
	struct metrics_series series;
	struct metric_stat stat;
	int64_t period_ms, origin_ms;
	bool is_returned;
	enum query_state state;
	struct math_value result; /* a SERIES, once it is DONE */
};

struct data_request {
	struct aws_call *call;
	struct data_query *queries;
	size_t count;
	int64_t start_ms, end_ms;
	int64_t page_ms, page_end_ms; /* periods that begin from here on, and before here */
	bool is_ascending, has_more;
	size_t max_datapoints;
	uint64_t room; /* for values of percentiles */
};

static enum status refuse(const struct data_query *query, const char *why, struct error *err)
{
	return aws_error(err, ERR_SEMANTIC, METRICS_INVALID, "The query '%.*s': %s.", SPAN_ARGS(query->id), why);
}

static void free_queries(struct data_request *request)
{
	for (size_t i = 0; i < request->count; i++)
		math_value_done(&request->queries[i].result);
}

/* ---- reading ---- */

static enum status read_metric(
	struct data_request *r, struct data_query *query, const struct json *metric_stat, struct error *err)
{
	const struct json *metric = json_get(metric_stat, "Metric");
	int64_t period_s = 0;
	struct error cause;

	TRY(metrics_identity(r->call, metrics_text(metric, "Namespace"), metric, &query->identity, err));
	aws_integer(json_get(metric_stat, "Period"), &period_s);
	TRY(metrics_check_period(period_s, err));
	if (metric_stat_parse(metrics_text(metric_stat, "Stat"), &query->stat, &cause) != OK)
		return refuse(query, cause.text, err);
	query->period_ms = period_s * SECOND_MS;
	query->window.unit = metrics_text(metric_stat, "Unit");
	query->label = query->identity.name;
	return OK;
}

static bool is_there(const struct json *node)
{
	return node && json_kind(node) != JSON_NULL;
}

static enum status read_query(
	struct data_request *r, struct data_query *query, const struct json *node, struct error *err)
{
	const struct json *metric_stat = json_get(node, "MetricStat"), *returned = json_get(node, "ReturnData");

	query->id = query->label = metrics_text(node, "Id");
	query->expression = metrics_text(node, "Expression");
	for (const struct data_query *other = r->queries; other < query; other++)
		if (span_equal(other->id, query->id))
			return refuse(query, "its Id is another's, too", err);
	if (is_there(metric_stat) == (query->expression.len > 0))
		return refuse(query, "it must have either MetricStat or Expression", err);
	if (is_there(metric_stat))
		TRY(read_metric(r, query, metric_stat, err));
	if (metrics_text(node, "Label").len)
		query->label = metrics_text(node, "Label");
	bool is_false = returned && (span_equal(json_string_of(returned), SPAN("false")) ||
					    (json_kind(returned) == JSON_BOOL && !json_is_true(returned)));
	query->is_returned = !is_false;
	query->origin_ms = metrics_origin(r->start_ms, query->period_ms ? query->period_ms : SECOND_MS);
	return OK;
}

static enum status read_times(struct data_request *r, struct error *err)
{
	const struct json *input = r->call->input;
	int64_t most = DATAPOINTS_MAX;

	aws_time(json_get(input, "StartTime"), &r->start_ms);
	aws_time(json_get(input, "EndTime"), &r->end_ms);
	if (r->start_ms >= r->end_ms)
		return aws_error(err, ERR_SEMANTIC, METRICS_INVALID,
			"The parameter StartTime must be less than the parameter EndTime.");
	aws_integer(json_get(input, "MaxDatapoints"), &most);
	r->max_datapoints = (size_t)most;
	r->is_ascending = span_equal(metrics_text(input, "ScanBy"), SPAN("TimestampAscending"));
	r->room = r->call->options->max_group_values;
	return OK;
}

static enum status read_queries(struct data_request *r, struct error *err)
{
	const struct json *list = json_get(r->call->input, "MetricDataQueries");
	size_t count = json_count(list);

	r->queries = arena_alloc(r->call->arena, (count + 1) * sizeof *r->queries);
	if (!r->queries)
		return error_no_memory(err);
	memset(r->queries, 0, (count + 1) * sizeof *r->queries);
	for (const struct json *node = json_first(list); node; node = json_next(node))
		TRY(read_query(r, &r->queries[r->count++], node, err));
	return OK;
}

/* ---- which time is this page's ---- */

static int64_t divide_up(int64_t number, int64_t by)
{
	return number / by + (number % by > 0);
}

/* The first period of the query that begins at or behind ms, as a number from its origin. */
static int64_t period_from(const struct data_query *query, int64_t ms)
{
	return ms <= query->origin_ms ? 0 : divide_up(ms - query->origin_ms, query->period_ms);
}

static size_t count_periods(const struct data_query *query, int64_t from_ms, int64_t until_ms)
{
	int64_t first = period_from(query, from_ms), end = period_from(query, until_ms);

	return end > first ? (size_t)(end - first) : 0;
}

/* Of all queries; an expression has at most as many as what it is made of, taken as that with most. */
static size_t count_datapoints(const struct data_request *r, int64_t from_ms, int64_t until_ms)
{
	size_t sum = 0, most = 0, expressions = 0;

	for (size_t i = 0; i < r->count; i++) {
		size_t count = r->queries[i].period_ms ? count_periods(&r->queries[i], from_ms, until_ms) : 0;
		expressions += !r->queries[i].period_ms;
		most = count > most ? count : most;
		sum += count;
	}
	return sum + expressions * most;
}

static enum status find_range(struct data_request *r, int64_t *first_ms, int64_t *end_ms, struct error *err)
{
	*first_ms = INT64_MAX;
	*end_ms = INT64_MIN;
	for (size_t i = 0; i < r->count; i++) {
		struct data_query *query = &r->queries[i];
		if (!query->period_ms)
			continue;
		TRY(metrics_fold(r->call, &query->identity, &query->window, NULL, &query->series, err));
		if (!query->series.has_points || query->series.last_ms < query->origin_ms)
			continue;
		int64_t behind = query->series.first_ms - query->origin_ms;
		int64_t first = query->origin_ms + (behind > 0 ? behind / query->period_ms * query->period_ms : 0);
		*first_ms = first < *first_ms ? first : *first_ms;
		*end_ms = query->series.last_ms + 1 > *end_ms ? query->series.last_ms + 1 : *end_ms;
	}
	return OK;
}

static enum status read_token(const struct data_request *r, int64_t *ms, struct error *err)
{
	struct span token = metrics_text(r->call->input, "NextToken");
	int64_t number;

	if (!token.len)
		return OK;
	if (!span_parse_i64(token, &number) || number > r->end_ms || number < r->start_ms - DATAPOINTS_MAX * SECOND_MS)
		return aws_error(err, ERR_SEMANTIC, "InvalidNextToken",
			"The NextToken '%.*s' is not one of this request.", (int)(token.len < 100 ? token.len : 100),
			token.ptr);
	*ms = number;
	return OK;
}

/* The longest time whose periods are no more than were asked for, one of the shortest periods at least. */
static int64_t page_length(const struct data_request *r, int64_t from_ms, int64_t until_ms)
{
	int64_t least = 1, most = until_ms - from_ms;

	while (least < most) {
		int64_t middle = least + (most - least + 1) / 2;
		int64_t low = r->is_ascending ? from_ms : until_ms - middle,
			high = r->is_ascending ? from_ms + middle : until_ms;
		if (count_datapoints(r, low, high) <= r->max_datapoints)
			least = middle;
		else
			most = middle - 1;
	}
	return least;
}

static enum status choose_page(struct data_request *r, struct error *err)
{
	int64_t first_ms, end_ms, token_ms = INT64_MIN;

	TRY(find_range(r, &first_ms, &end_ms, err));
	TRY(read_token(r, &token_ms, err));
	end_ms = end_ms < r->end_ms ? end_ms : r->end_ms;
	if (token_ms != INT64_MIN && r->is_ascending)
		first_ms = token_ms > first_ms ? token_ms : first_ms;
	if (token_ms != INT64_MIN && !r->is_ascending)
		end_ms = token_ms < end_ms ? token_ms : end_ms;
	if (first_ms >= end_ms)
		return OK; /* there is nothing: the page is empty */
	int64_t length = page_length(r, first_ms, end_ms);
	r->has_more = length < end_ms - first_ms;
	r->page_ms = r->is_ascending ? first_ms : end_ms - length;
	r->page_end_ms = r->is_ascending ? first_ms + length : end_ms;
	return OK;
}

/* ---- results ---- */

static enum status read_series(struct data_request *r, struct data_query *query, struct error *err)
{
	AUTO_DONE(metric_periods) periods = {0};
	int64_t first = period_from(query, r->page_ms);
	size_t count = count_periods(query, r->page_ms, r->page_end_ms), kept = 0;
	int64_t from_ms = query->origin_ms + first * query->period_ms,
		until_ms = from_ms + (int64_t)count * query->period_ms;
	struct math_series *series = math_value_add(&query->result, count);

	if (!series)
		return error_no_memory(err);
	query->result.kind = MATH_SERIES;
	series->period_ms = query->period_ms;
	series->first_ms = from_ms;
	series->until_ms = until_ms;
	query->window.from_ms = from_ms;
	query->window.until_ms = until_ms < r->end_ms ? until_ms : r->end_ms;
	if (!count || !query->series.has_points)
		return OK;
	TRY(metric_periods_init(&periods, from_ms, query->period_ms, count, err));
	periods.keeps_values = query->stat.kind == STAT_PERCENTILE;
	periods.room = &r->room;
	TRY(metrics_fold(r->call, &query->identity, &query->window, &periods, &query->series, err));
	for (size_t i = 0; i < count; i++) {
		if (!periods.items[i].count)
			continue;
		series->ts_ms[kept] = from_ms + (int64_t)i * query->period_ms;
		series->values[kept++] = metric_periods_stat(&periods, i, &query->stat);
	}
	series->count = kept;
	return OK;
}

static enum status copy_series(const struct math_series *from, struct math_value *out, struct error *err)
{
	struct math_series *to = math_value_add(out, from->count);

	if (!to)
		return error_no_memory(err);
	memcpy(to->ts_ms, from->ts_ms, from->count * sizeof *to->ts_ms);
	memcpy(to->values, from->values, from->count * sizeof *to->values);
	to->count = from->count;
	to->period_ms = from->period_ms;
	to->first_ms = from->first_ms;
	to->until_ms = from->until_ms;
	return OK;
}

static enum status run_query(struct data_request *r, struct data_query *query, struct error *err);

static enum status find_named(void *context, struct span id, struct math_value *out, struct error *err)
{
	struct data_request *r = context;

	*out = (struct math_value){.kind = MATH_SERIES};
	for (size_t i = 0; i < r->count; i++)
		if (span_equal(r->queries[i].id, id)) {
			TRY(run_query(r, &r->queries[i], err));
			return copy_series(&r->queries[i].result.series[0], out, err);
		}
	return error_set(
		err, ERR_SEMANTIC, "there is no query with the Id '%.*s'", (int)(id.len < 100 ? id.len : 100), id.ptr);
}

static enum status list_metrics(void *context, struct span part, struct math_value *out, struct error *err)
{
	struct data_request *r = context;

	for (size_t i = 0; i < r->count; i++)
		if (r->queries[i].period_ms && span_find(r->queries[i].id, part) >= 0) {
			TRY(run_query(r, &r->queries[i], err));
			TRY(copy_series(&r->queries[i].result.series[0], out, err));
		}
	return OK;
}

static enum status run_expression(struct data_request *r, struct data_query *query, struct error *err)
{
	struct math_names names = {find_named, list_metrics, r};
	struct error cause;
	enum status status = metric_math_run(query->expression, &names, &query->result, &cause);

	if (status == ERR_SEMANTIC && !cause.code)
		return refuse(query, cause.text, err);
	*err = cause;
	return status;
}

/* Once. */
static enum status run_query(struct data_request *r, struct data_query *query, struct error *err)
{
	if (query->state == QUERY_RUNS)
		return refuse(query, "its expression needs itself", err);
	if (query->state == QUERY_DONE)
		return OK;
	query->state = QUERY_RUNS;
	TRY(query->period_ms ? read_series(r, query, err) : run_expression(r, query, err));
	query->state = QUERY_DONE;
	return OK;
}

static void write_lists(const struct data_request *r, const struct math_series *series, struct json_writer *w)
{
	json_key(w, "Timestamps");
	json_array(w);
	for (size_t i = 0; i < series->count; i++)
		json_seconds(w, series->ts_ms[r->is_ascending ? i : series->count - 1 - i]);
	json_array_end(w);
	json_key(w, "Values");
	json_array(w);
	for (size_t i = 0; i < series->count; i++)
		metrics_write_double(w, series->values[r->is_ascending ? i : series->count - 1 - i]);
	json_array_end(w);
}

static void write_results(const struct data_request *r, struct json_writer *w)
{
	char token[24];

	json_key(w, "MetricDataResults");
	json_array(w);
	for (size_t i = 0; i < r->count; i++) {
		const struct data_query *query = &r->queries[i];
		if (!query->is_returned)
			continue;
		json_object(w);
		json_put_span(w, "Id", query->id);
		json_put_span(w, "Label", query->label);
		write_lists(r, &query->result.series[0], w);
		json_put_text(w, "StatusCode", r->has_more ? "PartialData" : "Complete");
		json_object_end(w);
	}
	json_array_end(w);
	if (r->has_more) {
		snprintf(token, sizeof token, "%lld", (long long)(r->is_ascending ? r->page_end_ms : r->page_ms));
		json_put_text(w, "NextToken", token);
	}
	json_key(w, "Messages");
	json_array(w);
	json_array_end(w);
}

static enum status run_request(struct data_request *r, struct error *err)
{
	TRY(read_times(r, err));
	TRY(read_queries(r, err));
	TRY(choose_page(r, err));
	for (size_t i = 0; i < r->count; i++)
		TRY(run_query(r, &r->queries[i], err));
	write_results(r, &r->call->w);
	return OK;
}

enum status metrics_get_data(struct aws_call *call, struct error *err)
{
	struct data_request request = {.call = call};
	enum status status = run_request(&request, err);

	free_queries(&request);
	return status;
}
