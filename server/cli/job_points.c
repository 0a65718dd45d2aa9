/* Points of a run: what the server has of each series is asked when it may be more than we know, and then remembered. */
#include "base/json_write.h"
#include "base/map.h"
#include "cli/job_calls.h"
#include "cli/url.h"

enum { MAX_PATH_BYTES = 8192, MAX_POINTS_BYTES = 16 << 20 };

static void put_name(struct buf *path, const char *key, const char *value)
{
	buf_append_text(path, key);
	buf_append_percent_encoded(path, span_from(value));
}

/* *series stays NULL when the job has none. */
static enum status read_series(struct http_client *client, const char *job, struct json **series, struct error *err)
{
	AUTO_DONE(buf) path = BUF_INIT(MAX_PATH_BYTES);
	AUTO_DONE(http_reply) reply = {0};

	put_name(&path, "/api/v1/jobs/", job);
	buf_append_text(&path, "/metrics");
	TRY(buf_status(&path, err));
	struct http_request request = {.method = "GET", .path = buf_span(&path)};
	enum status status = client_call(client, &request, &reply, err);
	if (status == ERR_NOT_FOUND)
		return OK;
	TRY(status);
	if (json_parse(series, buf_span(&reply.body), err) != OK)
		return error_set(err, ERR_UNAVAILABLE, "the reply is not JSON: is this an smfleet server?");
	return OK;
}

/* The document's rows of the stream by metric; they live as long as it does. */
static enum status index_series(struct map *rows, const struct json *document, const char *stream, struct error *err)
{
	const struct json *row = document ? json_first(json_get(document, "series")) : NULL;

	for (; row; row = json_next(row))
		if (span_equal(json_string_of(json_get(row, "stream")), span_from(stream)) &&
			!map_put(rows, json_string_of(json_get(row, "metric")), (void *)row))
			return error_set(err, ERR_MEMORY, "out of memory");
	return OK;
}

static bool is_there(const struct map *rows, bool is_time, uint64_t number, struct span object)
{
	AUTO(json) point = NULL;
	double there = 0;

	if (map_count(rows) == 0 || json_parse(&point, object, NULL) != OK)
		return false;
	const struct json *row = map_get(rows, json_string_of(json_get(point, "metric")));
	if (!row || !json_number_of(json_get(row, is_time ? "last_ts_ms" : "count"), &there))
		return false;
	return is_time ? (double)number <= there : (double)number < there;
}

/* What is new is put into the body. */
static enum status put_body(
	struct buf *body, struct span text, const struct map *rows, struct job_points_count *count, struct error *err)
{
	struct span line, digits;
	uint64_t number;

	while (span_next(&text, '\n', &line)) {
		struct span object = line;
		if (!span_next(&object, '\t', &digits))
			continue; /* the notice of a loss is no point */
		bool is_time = span_starts_with(digits, SPAN("@"));
		if (!span_parse_u64(span_skip(digits, is_time), &number))
			continue;
		if (object.len == 0)
			continue;
		if (is_there(rows, is_time, number, object)) {
			count->there++;
			continue;
		}
		count->fresh++;
		buf_append_span(body, object);
		buf_append_char(body, '\n');
	}
	return buf_status(body, err);
}

static void tell_rejected(const struct job_points *points, const struct http_reply *reply)
{
	AUTO(json) document = NULL;
	double rejected = 0;

	if (*points->has_told || json_parse(&document, buf_span(&reply->body), NULL) != OK ||
		!json_number_of(json_get(document, "rejected"), &rejected) || rejected < 1)
		return;
	const struct json *warnings = json_get(document, "warnings");
	struct span why = json_string_of(warnings ? json_first(warnings) : NULL);
	client_say(points->program, "the server did not take %.0f point%s of stream '%s': %.*s", rejected,
		rejected == 1 ? "" : "s", points->stream, SPAN_ARGS(why));
	*points->has_told = true;
}

static enum status write_new(struct http_client *client, const struct job_points *points, struct buf *body,
	struct job_points_count *count, struct error *err)
{
	AUTO(map) rows = map_new();

	if (!rows)
		return error_set(err, ERR_MEMORY, "out of memory");
	if (points->asks) {
		json_free(*points->known);
		*points->known = NULL;
		TRY(job_want_points_read(client, points->job, points->stream, err));
		TRY(read_series(client, points->job, points->known, err));
	}
	TRY(index_series(rows, *points->known, points->stream, err));
	*count = (struct job_points_count){0};
	return put_body(body, points->text, rows, count, err);
}

enum status job_count_points(
	struct http_client *client, const struct job_points *points, struct job_points_count *count, struct error *err)
{
	AUTO_DONE(buf) body = BUF_INIT(MAX_POINTS_BYTES);

	return write_new(client, points, &body, count, err);
}

enum status job_send_points(struct http_client *client, const struct job_points *points, struct error *err)
{
	AUTO_DONE(buf) path = BUF_INIT(MAX_PATH_BYTES);
	AUTO_DONE(buf) body = BUF_INIT(MAX_POINTS_BYTES);
	AUTO_DONE(http_reply) reply = {0};
	struct job_points_count count;

	TRY(write_new(client, points, &body, &count, err));
	if (body.len == 0)
		return OK;
	put_name(&path, "/api/v1/points?job=", points->job);
	put_name(&path, "&stream=", points->stream);
	if (*points->host) /* "": not known */
		put_name(&path, "&host=", points->host);
	TRY(buf_status(&path, err));
	struct http_request request = {.method = "POST",
		.path = buf_span(&path),
		.content_type = "application/x-ndjson",
		.body = buf_span(&body)};
	TRY(client_call(client, &request, &reply, err));
	tell_rejected(points, &reply);
	return OK;
}
