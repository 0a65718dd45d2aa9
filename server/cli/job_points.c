/* Points of a run: what the server has of each series is asked when it may be more than we know. */
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

static enum status put_body(struct buf *body, struct span text, const struct map *rows, struct error *err)
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
		if (object.len == 0 || is_there(rows, is_time, number, object))
			continue;
		buf_append_span(body, object);
		buf_append_char(body, '\n');
	}
	return buf_status(body, err);
}

enum status job_send_points(struct http_client *client, const struct job_points *points, struct error *err)
{
	AUTO_DONE(buf) path = BUF_INIT(MAX_PATH_BYTES);
	AUTO_DONE(buf) body = BUF_INIT(MAX_POINTS_BYTES);
	AUTO_DONE(http_reply) reply = {0};
	AUTO(json) document = NULL;
	AUTO(map) rows = map_new();

	if (!rows)
		return error_set(err, ERR_MEMORY, "out of memory");
	if (points->may_be_there) {
		TRY(read_series(client, points->job, &document, err));
		TRY(index_series(rows, document, points->stream, err));
	}
	TRY(put_body(&body, points->text, rows, err));
	if (body.len == 0)
		return OK;
	put_name(&path, "/api/v1/points?job=", points->job);
	put_name(&path, "&stream=", points->stream);
	put_name(&path, "&host=", points->host);
	TRY(buf_status(&path, err));
	struct http_request request = {.method = "POST",
		.path = buf_span(&path),
		.content_type = "application/x-ndjson",
		.body = buf_span(&body)};
	return client_call(client, &request, &reply, err);
}
