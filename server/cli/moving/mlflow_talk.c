#include "cli/moving/mlflow_talk.h"

#include "base/clock.h"
#include "cli/http/client.h"
#include "cli/http/url.h"

#include <math.h>

enum { PATH_MAX_BYTES = 64 << 10 };
static const double largest_exact = 0x1p53;

static enum status ask(
	struct mlflow_talk *talk, struct span path, struct span body, struct json **document, struct error *err)
{
	AUTO_DONE(http_reply) reply = {0};
	struct http_request request = {.method = body.len ? "POST" : "GET",
		.path = path,
		.headers = talk->headers,
		.content_type = body.len ? "application/json" : NULL,
		.body = body};

	TRY(client_call(talk->client, &request, &reply, err));
	if (document && json_parse(document, buf_span(&reply.body), NULL) != OK)
		return error_set(
			err, ERR_UNAVAILABLE, "the reply is not JSON: does MLflow's protocol stand at this address?");
	return OK;
}

enum status mlflow_talk(
	struct mlflow_talk *talk, struct span path, struct span body, struct json **document, struct error *err)
{
	int64_t until_ms = clock_mono_ms() + talk->patience_ms;

	for (;;) {
		enum status status = ask(talk, path, body, document, err);
		if (!client_is_passing(status) || clock_mono_ms() >= until_ms)
			return client_is_passing(status) ? ERR_UNAVAILABLE : status;
		if (talk->wait())
			talk->is_stopped = true;
		if (talk->is_stopped)
			return ERR_UNAVAILABLE;
	}
}

bool mlflow_talk_integer(const struct json *node, int64_t *out)
{
	double number;

	if (!node)
		return false;
	if (json_kind(node) == JSON_STRING)
		return span_parse_i64(json_string_of(node), out);
	if (!json_number_of(node, &number) || number != floor(number) || fabs(number) > largest_exact)
		return false;
	*out = (int64_t)number;
	return true;
}

static bool read_point(const struct json *node, struct mlflow_point *out)
{
	const struct json *value = json_get(node, "value"), *step = json_get(node, "step");

	*out = (struct mlflow_point){0};
	if (json_kind(step) != JSON_NULL && !mlflow_talk_integer(step, &out->step)) /* protobuf leaves a 0 out */
		out->step = INT64_MAX; /* beyond what a point may have */
	if (!mlflow_talk_integer(json_get(node, "timestamp"), &out->ts_ms))
		return false;
	if (!value)
		return true;
	return json_kind(value) == JSON_STRING ? span_parse_double(json_string_of(value), &out->value)
					       : json_number_of(value, &out->value);
}

enum status mlflow_talk_history(struct mlflow_talk *talk, struct span run_id, struct span metric,
	mlflow_take_point *take, void *context, struct error *err)
{
	AUTO_DONE(buf) token = BUF_INIT(PATH_MAX_BYTES);

	do {
		AUTO_DONE(buf) path = BUF_INIT(PATH_MAX_BYTES);
		AUTO(json) document = NULL;
		struct mlflow_point point;
		url_put_value(&path, MLFLOW_CALLS "metrics/get-history?run_id=", run_id);
		url_put_value(&path, "&metric_key=", metric);
		buf_append_text(&path, "&max_results=25000");
		if (token.len)
			url_put_value(&path, "&page_token=", buf_span(&token));
		TRY(buf_status(&path, err));
		TRY(mlflow_talk(talk, buf_span(&path), SPAN(""), &document, err));
		for (const struct json *at = json_first(json_get(document, "metrics")); at; at = json_next(at)) {
			if (!read_point(at, &point))
				return error_set(err, ERR_INVALID, "the server's answer has a point without a time");
			TRY(take(context, &point, err));
		}
		buf_reset(&token);
		buf_append_span(&token, json_string_of(json_get(document, "next_page_token")));
		TRY(buf_status(&token, err));
	} while (token.len);
	return OK;
}
