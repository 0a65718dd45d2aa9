/*
 * Prometheus' doors for samples: remote write, and the pushes that its client libraries send to a Pushgateway. Prometheus sends again
 * what got 429 or 5xx, and drops for ever what got another 4xx: only a body that cannot be read gets one.
 */
#include "api/core/handlers.h"
#include "api/core/request.h"
#include "api/send/upload.h"
#include "base/crypto.h"

#include <stdio.h>

static void reply_error(const struct error *err, struct http_response *response)
{
	response->status = http_status_of(err->status);
	buf_printf(&response->body, "%s\n", err->text);
	if (response->status == 429 || response->status == 503)
		http_response_header(response, "Retry-After", "%d", err->retry_after_s > 0 ? err->retry_after_s : 1);
}

/* What was left out is in the text, for people; /metrics counts it. */
static void reply_samples(const struct api *api, const struct ingest_protocol *protocol,
	const struct upload_result *result, const struct error *err, struct http_response *response)
{
	(void)api;
	(void)protocol;
	response->content_type = "text/plain; charset=utf-8";
	if (result->status != OK) {
		reply_error(err, response);
		return;
	}
	if (!result->rejected) {
		response->status = 204;
		return;
	}
	buf_printf(&response->body, "%zu samples were stored, %zu were not", result->accepted, result->rejected);
	if (result->refused)
		buf_printf(&response->body,
			"; %zu of them are of more jobs, streams or series than there may be (--max-jobs, --max-streams, --max-series), or of another team",
			result->refused);
	buf_printf(&response->body, "%s%.*s\n", result->warning.len ? "; " : "", SPAN_ARGS(result->warning));
}

/* ---- /metrics/job/JOB/LABEL/VALUE… : the job is what pushes, a label "instance" its stream, the others are of each series ---- */

static enum status bad_place(const char *what, struct span value, struct error *err)
{
	return error_set(err, ERR_INVALID,
		"%s '%.*s': the path is /metrics/job/JOB, then /LABEL/VALUE any number of times", what,
		(int)(value.len < 60 ? value.len : 60), value.ptr);
}

/* The alphabet of URLs, with or without padding; "=" alone is nothing. */
static bool decode(struct span text, struct buf *out)
{
	AUTO_DONE(buf) plain = BUF_INIT(4096);

	while (text.len && text.ptr[text.len - 1] == '=')
		text.len--;
	for (size_t i = 0; i < text.len; i++)
		buf_append_char(&plain, text.ptr[i] == '-' ? '+' : text.ptr[i] == '_' ? '/' : text.ptr[i]);
	while (plain.len % 4)
		buf_append_char(&plain, '=');
	return !plain.failure && crypto_unbase64(buf_span(&plain), out);
}

/* "job@base64" has its value coded. */
static enum status take_value(struct span *name, struct span value, struct buf *out, struct error *err)
{
	struct span suffix = SPAN("@base64");

	buf_reset(out);
	if (!span_ends_with(*name, suffix)) {
		buf_append_span(out, value);
		return buf_status(out, err);
	}
	name->len -= suffix.len;
	if (!decode(value, out) || !span_is_utf8(buf_span(out)))
		return bad_place("no base64", value, err);
	return OK;
}

static enum status put_name(const char *what, struct span value, char out[PLACE_NAME_MAX_BYTES + 1], struct error *err)
{
	TRY(ingest_check_name(what, value, PLACE_NAME_MAX_BYTES, err));
	memcpy(out, value.ptr, value.len);
	out[value.len] = 0;
	return OK;
}

static enum status put_label(struct span name, struct span value, struct buf *labels, struct error *err)
{
	if (!name.len || span_equal(name, SPAN("job")))
		return bad_place("no label", name, err);
	if (!value.len) /* as if it were not there */
		return OK;
	size_t from = labels->len;
	ingest_metric_label(labels, labels->len == 0, name, value);
	if (from == 0 && labels->len) /* the brace in front is the metric's to write */
		labels->ptr[0] = ' ';
	if (labels->failure == ERR_TOO_LARGE)
		return error_set(
			err, ERR_INVALID, "the labels of the path have more than %d bytes", PLACE_LABELS_MAX_BYTES);
	return buf_status(labels, err);
}

static enum status read_pairs(struct span rest, struct upload_place *out, struct buf *labels, struct error *err)
{
	AUTO_DONE(buf) value = BUF_INIT(PLACE_LABELS_MAX_BYTES);
	struct span name, text;

	while (span_next(&rest, '/', &name)) {
		if (!span_next(&rest, '/', &text))
			return bad_place("no value of", name, err);
		TRY(take_value(&name, text, &value, err));
		if (span_equal(name, SPAN("instance")) && value.len)
			TRY(put_name("instance", buf_span(&value), out->stream, err));
		else
			TRY(put_label(name, buf_span(&value), labels, err));
	}
	return OK;
}

static enum status place_of(const struct http_request *request, struct upload_place *out, struct error *err)
{
	AUTO_DONE(buf) labels = BUF_INIT(PLACE_LABELS_MAX_BYTES);
	AUTO_DONE(buf) job = BUF_INIT(PLACE_LABELS_MAX_BYTES);
	struct span rest = http_request_segment(request, 0), value, name = SPAN("job");

	if (span_starts_with(http_request_path(request), SPAN("/metrics/job@base64/")))
		name = SPAN("job@base64");
	if (!span_next(&rest, '/', &value))
		return bad_place("no job", rest, err);
	TRY(take_value(&name, value, &job, err));
	TRY(put_name("job", buf_span(&job), out->job, err));
	TRY(read_pairs(rest, out, &labels, err));
	memcpy(out->labels, labels.ptr ? labels.ptr : "", labels.len);
	out->labels[labels.len] = 0;
	return OK;
}

static const struct ingest_protocol *text_for(struct span content_type)
{
	const struct ingest_protocol *points = ingest_points_protocol_for(content_type);

	return !content_type.len || points == &ingest_points ? &ingest_prometheus
	       : points == &ingest_prometheus                ? points
							     : NULL;
}

static const struct upload_door door_remote_write = {.protocol = ingest_remote_write_for,
	.media =
		"application/x-protobuf, a snappy block of Prometheus' remote write 1.0 (protobuf_message: prometheus.WriteRequest)",
	.tells_errors = true,
	.takes_whole = true,
	.is_prometheus = true,
	.reply = reply_samples};
static const struct upload_door door_push = {.protocol = text_for,
	.media = "Prometheus' text (text/plain)",
	.tells_errors = true,
	.is_prometheus = true,
	.place = place_of,
	.reply = reply_samples};

static enum status begin_remote_write(
	void *context, const struct http_request *request, struct http_upload *handle, void **out, struct error *err)
{
	return upload_begin(context, &door_remote_write, request, handle, out, err);
}
const struct http_upload_ops api_upload_remote_write = {begin_remote_write, upload_feed, upload_finish, upload_abort};

static enum status begin_push(
	void *context, const struct http_request *request, struct http_upload *handle, void **out, struct error *err)
{
	return upload_begin(context, &door_push, request, handle, out, err);
}
const struct http_upload_ops api_upload_push = {begin_push, upload_feed, upload_finish, upload_abort};
