/* Points of a run: those that the server has are passed over, the others sent. */
#include "base/hash128.h"
#include "cli/http/url.h"
#include "cli/sender/job_calls.h"
#include "cli/sender/stored_points.h"

#include <inttypes.h>
#include <stdio.h>

enum { MAX_PATH_BYTES = 8192, MAX_HEADERS_BYTES = 256 };

static enum status is_there(struct http_client *client, const struct job_points *points, struct span digits,
	struct span object, bool *is_point, bool *is_there, struct error *err)
{
	const struct stored_points_of of = {points->program, points->job, points->stream};
	bool is_time = span_starts_with(digits, SPAN("@")), is_assumed = span_starts_with(digits, SPAN("~"));
	struct filed_point point = {.object = object, .is_time_assumed = is_assumed};

	*is_point = object.len && span_parse_u64(span_skip(digits, is_time || is_assumed), &point.number);
	if (!*is_point)
		return OK;
	if (!is_time)
		return stored_points_take(points->stored, client, &of, &point, is_there, err);
	*is_there = stored_points_has_time(points->stored, object, (int64_t)point.number);
	return OK;
}

enum status job_pick_points(struct http_client *client, const struct job_points *points, struct buf *body,
	struct job_points_count *count, struct error *err)
{
	const struct stored_points_of of = {points->program, points->job, points->stream};
	struct span text = points->text, line, digits;

	*count = (struct job_points_count){0};
	TRY(stored_points_begin(points->stored, client, &of, points->asks, err));
	while (span_next(&text, '\n', &line)) {
		struct span object = line;
		bool is_point = false, is_known = false;
		if (!span_next(&object, '\t', &digits))
			continue; /* the notice of a loss is no point */
		TRY(is_there(client, points, digits, object, &is_point, &is_known, err));
		if (!is_point)
			continue;
		count->there += is_known;
		count->fresh += !is_known;
		if (is_known)
			continue;
		buf_append_span(body, object);
		buf_append_char(body, '\n');
	}
	return buf_status(body, err);
}

static uint64_t count_rejected(const struct job_points *points, const struct http_reply *reply)
{
	AUTO(json) document = NULL;
	double rejected = 0;

	if (json_parse(&document, buf_span(&reply->body), NULL) != OK ||
		!json_number_of(json_get(document, "rejected"), &rejected) || rejected < 1)
		return 0;
	if (*points->has_told)
		return (uint64_t)rejected;
	const struct json *warnings = json_get(document, "warnings");
	struct span why = json_string_of(warnings ? json_first(warnings) : NULL);
	client_say(points->program, "the server did not take %.0f point%s of stream '%s': %.*s", rejected,
		rejected == 1 ? "" : "s", points->stream, SPAN_ARGS(why));
	*points->has_told = true;
	return (uint64_t)rejected;
}

/*
 * Where nothing can be compared, a batch that is sent again is known to the server by its key. The batch's place in the stream tells two that
 * are alike from one that is sent again.
 */
static void put_key(const struct job_points *points, struct span body, struct buf *headers)
{
	struct hash128 hash = {0};

	if (!stored_points_are_hidden(points->stored))
		return;
	hash128_add(&hash, span_from(points->job));
	hash128_add(&hash, span_from(points->stream));
	hash128_add_number(&hash, points->place);
	hash128_add(&hash, body);
	buf_printf(headers, "Idempotency-Key: %016" PRIx64 "%016" PRIx64 "\r\n", hash.high, hash.low);
}

enum status job_send_points(struct http_client *client, const struct job_points *points, struct span body,
	uint64_t *rejected, struct error *err)
{
	AUTO_DONE(buf) path = BUF_INIT(MAX_PATH_BYTES);
	AUTO_DONE(buf) headers = BUF_INIT(MAX_HEADERS_BYTES);
	AUTO_DONE(http_reply) reply = {0};

	*rejected = 0;
	if (body.len) {
		url_put_value(&path, "/api/v1/points?job=", span_from(points->job));
		url_put_value(&path, "&stream=", span_from(points->stream));
		if (*points->host) /* "": not known */
			url_put_value(&path, "&host=", span_from(points->host));
		TRY(buf_status(&path, err));
		put_key(points, body, &headers);
		buf_append_char(&headers, 0);
		TRY(buf_status(&headers, err));
		struct http_request request = {.method = "POST",
			.path = buf_span(&path),
			.content_type = "application/x-ndjson",
			.headers = headers.ptr,
			.body = body,
			.is_once = !*headers.ptr};
		TRY(client_call(client, &request, &reply, err));
		*rejected = count_rejected(points, &reply);
	}
	stored_points_end(points->stored);
	return OK;
}
