/* Many charts in one request: comparison. Each query has its own result, or its own error. */
#include "api/charts/points.h"
#include "api/charts/points_asked.h"
#include "api/core/api_state.h"
#include "api/core/handlers.h"
#include "api/core/request.h"
#include "base/json/json_read.h"
#include "base/json/json_write.h"
#include "read/charts/chart.h"
#include "read/charts/chart_query.h"
#include "read/charts/work_axis.h"

#include <math.h>
#include <stdio.h>

static enum status read_work(const struct json *node, const char *key, double *out, struct error *err)
{
	const struct json *number = json_get(node, key);

	if (number && (!json_number_of(number, out) || !isfinite(*out)))
		return error_set_field(err, ERR_SEMANTIC, key, "%s is no number", key);
	return OK;
}

static enum status read_window(const struct json *node, struct chart_query *query, struct error *err)
{
	query->work_from = -INFINITY;
	query->work_to = INFINITY;
	if (chart_axis_is_work(query->axis)) {
		TRY(read_work(node, "from", &query->work_from, err));
		return read_work(node, "to", &query->work_to, err);
	}
	TRY(json_want_i64(node, "from", &query->from, err));
	return json_want_i64(node, "to", &query->to, err);
}

static enum status read_one(const struct json *node, struct span *job, struct chart_query *query, struct error *err)
{
	struct span axis = SPAN(""), attempts = SPAN("");
	int64_t buckets = CHART_BUCKETS_DEFAULT;
	const struct json *number = json_get(node, "attempts");
	char digits[24];

	*query = (struct chart_query){.metric = SPAN(""), .stream = SPAN(""), .from = INT64_MIN, .to = INT64_MAX};
	if (json_kind(node) != JSON_OBJECT)
		return error_set_field(err, ERR_SEMANTIC, "queries", "each query is an object");
	TRY(json_want_string(node, "job", job, err));
	TRY(json_want_string(node, "metric", &query->metric, err));
	TRY(json_want_string(node, "stream", &query->stream, err));
	TRY(json_want_string(node, "x", &axis, err));
	TRY(json_want_i64(node, "buckets", &buckets, err));
	if (number && json_kind(number) == JSON_NUMBER) {
		int64_t attempt = 0;
		TRY(json_want_i64(node, "attempts", &attempt, err));
		snprintf(digits, sizeof digits, "%lld", (long long)attempt);
		attempts = span_from(digits);
	} else {
		TRY(json_want_string(node, "attempts", &attempts, err));
	}
	if (!job->len || !query->metric.len)
		return error_set_field(
			err, ERR_SEMANTIC, job->len ? "metric" : "job", "a query names its job and its metric");
	if (buckets < 1 || buckets > CHART_BUCKETS_MAX)
		return error_set_field(err, ERR_SEMANTIC, "buckets", "buckets %lld is not between 1 and %d",
			(long long)buckets, CHART_BUCKETS_MAX);
	query->buckets = (size_t)buckets;
	TRY(api_parse_axis(axis, query, err));
	TRY(read_window(node, query, err));
	return api_parse_attempts(attempts, query, err);
}

static void write_error(struct json_writer *w, const struct error *err)
{
	json_object(w);
	json_key(w, "error");
	json_object(w);
	json_put_i64(w, "status", http_status_of(err->status));
	json_put_text(w, "detail", err->text);
	if (err->field[0])
		json_put_text(w, "field", err->field);
	json_object_end(w);
	json_object_end(w);
}

static enum status write_result(
	struct api *api, struct store_reader *reader, const struct json *node, struct json_writer *w, struct error *err)
{
	AUTO(arena) arena = NULL;
	struct chart_query query;
	struct chart chart;
	struct span job = SPAN("");
	unsigned columns;

	TRY(api_arena(&arena, err));
	TRY(read_one(node, &job, &query, err));
	TRY(api_parse_columns(json_get(node, "columns"), &columns, err));
	TRY(work_axis_chart(api->options.pipeline, reader, arena, job, &query, false, &chart, err));
	api_write_chart(w, &chart, columns);
	return OK;
}

/* Before any is answered: a request over a limit is refused whole. */
static enum status check_limits(const struct api *api, const struct json *queries, struct error *err)
{
	size_t count = json_count(queries), buckets = 0;

	if (!queries || json_kind(queries) != JSON_ARRAY)
		return error_set_field(err, ERR_SEMANTIC, "queries", "queries is a list of {job, metric, ...}");
	if (count > api->options.max_chart_queries)
		return error_set_field(err, ERR_TOO_LARGE, "queries",
			"%zu queries in one request are more than %zu (--max-chart-queries)", count,
			api->options.max_chart_queries);
	for (const struct json *node = json_first(queries); node; node = json_next(node)) {
		int64_t asked = CHART_BUCKETS_DEFAULT;
		if (json_kind(node) == JSON_OBJECT && json_want_i64(node, "buckets", &asked, NULL) == OK && asked > 0)
			buckets += (size_t)asked < CHART_BUCKETS_MAX ? (size_t)asked : CHART_BUCKETS_MAX;
	}
	if (buckets > api->options.max_chart_buckets)
		return error_set_field(err, ERR_TOO_LARGE, "buckets",
			"%zu buckets in one request are more than %zu (--max-chart-buckets)", buckets,
			api->options.max_chart_buckets);
	return OK;
}

enum status api_points_query(void *context, void *worker, const struct http_request *request,
	struct http_response *response, struct error *err)
{
	struct api *api = context;
	AUTO(json) body = NULL;
	struct json_writer w = api_reply(response);

	TRY(api_body_object(request, &body, err));
	const struct json *queries = json_get(body, "queries");
	TRY(check_limits(api, queries, err));
	json_object(&w);
	json_key(&w, "results");
	json_array(&w);
	for (const struct json *node = json_first(queries); node; node = json_next(node)) {
		struct error own = {0};
		if (write_result(api, ((struct api_worker *)worker)->reader, node, &w, &own) != OK)
			write_error(&w, &own);
	}
	json_array_end(&w);
	json_object_end(&w);
	return buf_status(&response->body, err);
}
