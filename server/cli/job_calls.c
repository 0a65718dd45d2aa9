#include "cli/job_calls.h"

#include "base/json_write.h"
#include "cli/identity.h"
#include "cli/url.h"

#include <inttypes.h>

enum { MAX_PATH_BYTES = 8192, MAX_BODY_BYTES = 64 << 10 };

static void put_job_path(struct buf *path, const char *job, const char *rest)
{
	buf_append_text(path, "/api/v1/jobs/");
	buf_append_percent_encoded(path, span_from(job));
	buf_append_text(path, rest);
}

static enum status post_json(struct http_client *client, struct span path, struct span body, struct error *err)
{
	AUTO_DONE(http_reply) reply = {0};
	struct http_request request = {
		.method = "POST", .path = path, .content_type = "application/json", .body = body};

	return client_call(client, &request, &reply, err);
}

/* *document is NULL unless OK. */
static enum status get_json(struct http_client *client, struct span path, struct json **document, struct error *err)
{
	AUTO_DONE(http_reply) reply = {0};
	struct http_request request = {.method = "GET", .path = path};

	TRY(client_call(client, &request, &reply, err));
	if (json_parse(document, buf_span(&reply.body), err) != OK)
		return error_set(err, ERR_UNAVAILABLE, "the reply is not JSON: is this an smfleet server?");
	return OK;
}

enum status job_create(struct http_client *client, struct span document, struct error *err)
{
	return post_json(client, SPAN("/api/v1/jobs"), document, err);
}

static bool has_tag(const struct json *document, const char *key, const char *value)
{
	for (const struct json *tag = json_first(json_get(document, "Tags")); tag; tag = json_next(tag))
		if (span_equal(json_string_of(json_get(tag, "Key")), span_from(key)))
			return span_equal(json_string_of(json_get(tag, "Value")), span_from(value));
	return false;
}

enum status job_read_standing(struct http_client *client, const char *job, const char *run_key,
	struct job_standing *standing, struct error *err)
{
	AUTO_DONE(buf) path = BUF_INIT(MAX_PATH_BYTES);
	AUTO(json) document = NULL;

	put_job_path(&path, job, "");
	TRY(buf_status(&path, err));
	TRY(get_json(client, buf_span(&path), &document, err));
	struct span status = json_string_of(json_get(document, "TrainingJobStatus"));
	standing->has_ended = span_equal(status, SPAN("Completed")) || span_equal(status, SPAN("Failed")) ||
			      span_equal(status, SPAN("Stopped"));
	standing->is_same_run = run_key && has_tag(document, IDENTITY_RUN_KEY_TAG, run_key);
	return OK;
}

enum status job_transition(
	struct http_client *client, const char *job, const struct job_change *change, struct error *err)
{
	AUTO_DONE(buf) path = BUF_INIT(MAX_PATH_BYTES);
	AUTO_DONE(buf) body = BUF_INIT(MAX_BODY_BYTES);
	struct json_writer w = json_writer_on(&body);

	put_job_path(&path, job, "/transitions");
	TRY(buf_status(&path, err));
	json_object(&w);
	json_put_text(&w, "SecondaryStatus", change->secondary_status);
	json_put_i64(&w, "time_ms", change->time_ms);
	if (change->reason)
		json_put_text(&w, "FailureReason", change->reason);
	if (change->unless) {
		json_key(&w, "unless");
		json_array(&w);
		for (const char *const *status = change->unless; *status; status++)
			json_text(&w, *status);
		json_array_end(&w);
	}
	json_object_end(&w);
	TRY(buf_status(&body, err));
	return post_json(client, buf_span(&path), buf_span(&body), err);
}

enum status job_stream_bytes(
	struct http_client *client, const char *job, const char *stream, uint64_t *bytes, struct error *err)
{
	AUTO_DONE(buf) path = BUF_INIT(MAX_PATH_BYTES);
	AUTO(json) document = NULL;
	double number;

	*bytes = 0;
	put_job_path(&path, job, "/streams");
	TRY(buf_status(&path, err));
	enum status status = get_json(client, buf_span(&path), &document, err);
	if (status == ERR_NOT_FOUND)
		return OK;
	TRY(status);
	const struct json *row = json_first(json_get(document, "streams"));
	for (; row; row = json_next(row)) {
		const struct json *name = json_get(row, "stream") ? json_get(row, "stream") : json_get(row, "name");
		if (span_equal(json_string_of(name), span_from(stream)) &&
			json_number_of(json_get(row, "bytes"), &number) && number >= 0 && number < 9e15)
			*bytes = (uint64_t)number;
	}
	return OK;
}

static bool read_next_offset(const struct http_reply *reply, uint64_t *next_offset)
{
	AUTO(json) document = NULL;
	double number;

	if (json_parse(&document, buf_span(&reply->body), NULL) != OK ||
		!json_number_of(json_get(document, "next_offset"), &number) || number < 0 || number > 9e15)
		return false;
	*next_offset = (uint64_t)number;
	return true;
}

enum status job_send_lines(struct http_client *client, const struct job_lines *lines, uint64_t *next_offset,
	bool *has_next, struct error *err)
{
	AUTO_DONE(buf) path = BUF_INIT(MAX_PATH_BYTES);
	AUTO_DONE(http_reply) reply = {0};
	struct http_request request = {.method = "POST", .content_type = lines->content_type, .body = lines->body};

	*has_next = false;
	buf_append_text(&path, "/api/v1/logs?job=");
	buf_append_percent_encoded(&path, span_from(lines->job));
	buf_append_text(&path, "&stream=");
	buf_append_percent_encoded(&path, span_from(lines->stream));
	buf_append_text(&path, "&host=");
	buf_append_percent_encoded(&path, span_from(lines->host));
	buf_printf(&path, "&offset=%" PRIu64, lines->offset);
	if (lines->written_ms)
		buf_printf(&path, "&written_ms=%" PRId64, lines->written_ms);
	TRY(buf_status(&path, err));
	request.path = buf_span(&path);
	enum status status = client_call(client, &request, &reply, err);
	if (status == OK || status == ERR_CONFLICT)
		*has_next = read_next_offset(&reply, next_offset);
	return status;
}

enum status job_read_times(
	struct http_client *client, const char *job, int64_t *first_ms, int64_t *last_ms, struct error *err)
{
	AUTO_DONE(buf) path = BUF_INIT(MAX_PATH_BYTES);
	AUTO(json) document = NULL;
	bool has_times = false;

	put_job_path(&path, job, "/streams");
	TRY(buf_status(&path, err));
	TRY(get_json(client, buf_span(&path), &document, err));
	const struct json *row = json_first(json_get(document, "streams"));
	for (; row; row = json_next(row)) {
		int64_t first = 0, last = 0;
		TRY(json_want_i64(row, "first_ms", &first, err));
		TRY(json_want_i64(row, "last_ms", &last, err));
		if (!first || !last)
			continue;
		*first_ms = !has_times || first < *first_ms ? first : *first_ms;
		*last_ms = !has_times || last > *last_ms ? last : *last_ms;
		has_times = true;
	}
	return OK;
}
