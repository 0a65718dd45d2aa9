/* The doors for lines and points: our own two, and those of other products' shippers, each answered as its clients expect. */
#include "api/core/api_state.h"
#include "api/core/handlers.h"
#include "api/core/request.h"
#include "api/send/upload.h"
#include "base/json/json_write.h"
#include "pipeline/jobs/session_table.h"

#include <stdio.h>

/* ---- our own ---- */

static void write_warnings(const struct api *api, const struct upload_result *result, struct json_writer *w)
{
	char text[120];

	json_key(w, "warnings");
	json_array(w);
	if (result->warning.len)
		json_span(w, result->warning);
	if (result->refused) {
		snprintf(text, sizeof text, "%zu points are of more series than a stream may have (--max-series)",
			result->refused);
		json_text(w, text);
	}
	if (result->cut) {
		snprintf(text, sizeof text, "%zu lines were longer than %zu bytes (--max-line-bytes) and were cut",
			result->cut, api->options.max_line_bytes);
		json_text(w, text);
	}
	json_array_end(w);
}

static void write_reply(
	const struct api *api, const struct upload_result *result, bool has_offset, struct http_response *response)
{
	struct json_writer w = api_reply(response);
	char seq[24];

	json_object(&w);
	json_put_i64(&w, "accepted", (int64_t)result->accepted);
	json_put_i64(&w, "rejected", (int64_t)result->rejected);
	if (result->duplicate)
		json_put_i64(&w, "duplicate", (int64_t)result->duplicate);
	if (result->cut)
		json_put_i64(&w, "cut", (int64_t)result->cut);
	snprintf(seq, sizeof seq, "%llu", (unsigned long long)result->seq);
	json_put_text(&w, "seq", seq);
	if (has_offset)
		json_put_i64(&w, "next_offset", (int64_t)result->next_offset);
	write_warnings(api, result, &w);
	if (result->session[0])
		session_write_commands(api->sessions, span_from(result->session), &w);
	json_object_end(&w);
}

static void reply_lines(const struct api *api, const struct ingest_protocol *protocol,
	const struct upload_result *result, const struct error *err, struct http_response *response)
{
	(void)protocol;
	(void)err;
	write_reply(api, result, result->has_committed, response);
}

static void reply_points(const struct api *api, const struct ingest_protocol *protocol,
	const struct upload_result *result, const struct error *err, struct http_response *response)
{
	(void)protocol;
	(void)err;
	write_reply(api, result, result->has_committed && result->has_offset, response);
}

static const struct upload_door door_lines = {.protocol = ingest_protocol_for,
	.media = "text/plain, application/x-ndjson or application/json (an array)",
	.reply = reply_lines};
static const struct upload_door door_points = {.protocol = ingest_points_protocol_for,
	.media = "application/json, application/x-ndjson, text/csv or text/plain (Prometheus)",
	.needs_job = true,
	.counts_points = true,
	.reply = reply_points};

/* ---- Loki: 204, or a text; its clients send again what got 429 or 5xx, and drop what got another 4xx ---- */

static void reply_text(const struct error *err, struct http_response *response)
{
	response->status = http_status_of(err->status);
	response->content_type = "text/plain; charset=utf-8";
	buf_printf(&response->body, "%s\n", err->text);
	if (response->status == 429 || response->status == 503)
		http_response_header(response, "Retry-After", "%d", err->retry_after_s > 0 ? err->retry_after_s : 1);
}

/* Nothing of a body could be stored: the shipper is told, because then it is set up wrong. Of a part, /metrics tells. */
static void reply_loki(const struct api *api, const struct ingest_protocol *protocol,
	const struct upload_result *result, const struct error *err, struct http_response *response)
{
	struct error nothing = {.status = ERR_INVALID};

	(void)api;
	(void)protocol;
	snprintf(nothing.text, sizeof nothing.text, "%zu entries were not stored: %.*s", result->rejected,
		(int)result->warning.len, result->warning.ptr ? result->warning.ptr : "");
	if (result->status != OK)
		reply_text(err, response);
	else if (result->rejected && !result->accepted && !result->duplicate)
		reply_text(&nothing, response);
	else
		response->status = 204;
}

static const struct upload_door door_loki = {.protocol = ingest_loki_protocol_for,
	.media = "application/x-protobuf (a snappy block) or application/json",
	.tells_errors = true,
	.takes_whole = true,
	.reply = reply_loki};

/* ---- OTLP: its response, with what was rejected, or google.rpc.Status; both in the form of the request ---- */

enum { RPC_INVALID_ARGUMENT = 3, RPC_RESOURCE_EXHAUSTED = 8, RPC_INTERNAL = 13, RPC_UNAVAILABLE = 14 };

static int rpc_code(int http_status)
{
	switch (http_status) {
	case 429:
		return RPC_RESOURCE_EXHAUSTED;
	case 503:
		return RPC_UNAVAILABLE;
	default:
		return http_status < 500 ? RPC_INVALID_ARGUMENT : RPC_INTERNAL;
	}
}

static void put_varint(struct buf *out, uint64_t value)
{
	for (; value > 0x7f; value >>= 7)
		buf_append_char(out, (char)(value | 0x80));
	buf_append_char(out, (char)value);
}

/* A message of a number and a text, fields 1 and 2. */
static void put_message(struct buf *out, uint64_t number, struct span text)
{
	if (number) {
		buf_append_char(out, 1 << 3);
		put_varint(out, number);
	}
	if (text.len) {
		buf_append_char(out, 2 << 3 | 2);
		put_varint(out, text.len);
		buf_append_span(out, text);
	}
}

static void reply_otlp_error(const struct error *err, bool is_json, struct http_response *response)
{
	response->status = http_status_of(err->status);
	if (response->status == 429 || response->status == 503)
		http_response_header(response, "Retry-After", "%d", err->retry_after_s > 0 ? err->retry_after_s : 1);
	if (!is_json) {
		put_message(&response->body, (uint64_t)rpc_code(response->status), span_from(err->text));
		return;
	}
	struct json_writer w = api_reply(response);
	json_object(&w);
	json_put_i64(&w, "code", rpc_code(response->status));
	json_put_text(&w, "message", err->text);
	json_object_end(&w);
}

/* Empty when all was stored. A text without a number is a warning. */
static void reply_otlp_partial(
	size_t rejected, struct span text, const char *counted, bool is_json, struct http_response *response)
{
	AUTO_DONE(buf) partial = BUF_INIT(1 << 16);

	if (!is_json) {
		put_message(&partial, rejected, text);
		if (partial.len) {
			buf_append_char(&response->body, 1 << 3 | 2);
			put_varint(&response->body, partial.len);
			buf_append_span(&response->body, buf_span(&partial));
		}
		return;
	}
	struct json_writer w = api_reply(response);
	json_object(&w);
	if (rejected || text.len) {
		char digits[24];
		snprintf(digits, sizeof digits, "%zu", rejected); /* 64 bits are texts in protobuf's JSON */
		json_key(&w, "partialSuccess");
		json_object(&w);
		json_put_text(&w, counted, digits);
		json_put_span(&w, "errorMessage", text);
		json_object_end(&w);
	}
	json_object_end(&w);
}

static void reply_otlp(const struct api *api, const struct ingest_protocol *protocol,
	const struct upload_result *result, const struct error *err, struct http_response *response)
{
	bool is_json = protocol == &ingest_otlp_logs_json || protocol == &ingest_otlp_metrics_json ||
		       protocol == &ingest_otlp_traces_json;
	bool is_points = protocol == &ingest_otlp_metrics || protocol == &ingest_otlp_metrics_json;
	bool is_spans = protocol == &ingest_otlp_traces || protocol == &ingest_otlp_traces_json;
	AUTO_DONE(buf) text = BUF_INIT(1 << 14);

	(void)api;
	response->content_type = is_json ? "application/json" : "application/x-protobuf";
	if (result->status != OK) {
		reply_otlp_error(err, is_json, response);
		return;
	}
	buf_append_span(&text, result->warning);
	if (result->refused)
		buf_printf(&text, "%s%zu points are of more series than a stream may have (--max-series)",
			text.len ? "; " : "", result->refused);
	reply_otlp_partial(result->rejected, buf_span(&text),
		is_spans    ? "rejectedSpans"
		: is_points ? "rejectedDataPoints"
			    : "rejectedLogRecords",
		is_json, response);
}

static const char otlp_media[] = "application/x-protobuf or application/json";
static const struct upload_door door_otlp_logs = {.protocol = ingest_otlp_logs_for,
	.media = otlp_media,
	.tells_errors = true,
	.takes_whole = true,
	.reply = reply_otlp};
static const struct upload_door door_otlp_metrics = {.protocol = ingest_otlp_metrics_for,
	.media = otlp_media,
	.tells_errors = true,
	.takes_whole = true,
	.reply = reply_otlp};
static const struct upload_door door_otlp_traces = {.protocol = ingest_otlp_traces_for,
	.media = otlp_media,
	.tells_errors = true,
	.takes_whole = true,
	.reply = reply_otlp};

/* ---- what the routes name ---- */

#define DOOR(name)                                                                                                     \
	static enum status begin_##name(void *context, const struct http_request *request, struct http_upload *handle, \
		void **out, struct error *err)                                                                         \
	{                                                                                                              \
		return upload_begin(context, &door_##name, request, handle, out, err);                                 \
	}                                                                                                              \
	const struct http_upload_ops api_upload_##name = {begin_##name, upload_feed, upload_finish, upload_abort}

DOOR(lines);
DOOR(points);
DOOR(loki);
DOOR(otlp_logs);
DOOR(otlp_metrics);
DOOR(otlp_traces);

/* Loki's own answer, which shippers look for before they send. */
enum status api_loki_ready(void *context, void *worker, const struct http_request *request,
	struct http_response *response, struct error *err)
{
	TRY(api_readyz(context, worker, request, response, err));
	buf_reset(&response->body);
	buf_append_text(&response->body, "ready\n");
	return OK;
}
