/* Points of a run: what the server has of each series is asked when it may be more than we know, and then remembered. */
#include "base/json_write.h"
#include "base/map.h"
#include "cli/sender/job_calls.h"
#include "cli/http/url.h"

#include <inttypes.h>
#include <stdio.h>

enum {
	MAX_PATH_BYTES = 8192,
	MAX_POINTS_BYTES = 16 << 20,
	MAX_COMPARED_POINTS = 500000, /* a reply holds them */
};

/* Written into the server's document of series: that the stream has lines, too; of a row: its points that come from none. */
static const char MIXED[] = "is_mixed", SENT[] = "sent";

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
			return error_no_memory(err);
	return OK;
}

/* ---- series that lines give points to as well ---- */

static uint64_t count_without_line(const struct json *document, struct span metric)
{
	const struct json *series = json_first(json_get(document, "series"));
	uint64_t count = 0;

	for (; series; series = json_next(series)) {
		const struct json *lines = json_get(series, "line");
		bool is_it = span_equal(json_string_of(json_get(series, "metric")), metric);
		double number;
		for (const struct json *at = is_it && lines ? json_first(lines) : NULL; at; at = json_next(at))
			count += json_number_of(at, &number) && number < 0;
	}
	return count;
}

static enum status read_sent(struct http_client *client, const struct job_points *points, struct span metric,
	uint64_t *sent, struct error *err)
{
	AUTO_DONE(buf) path = BUF_INIT(MAX_PATH_BYTES);
	AUTO_DONE(http_reply) reply = {0};
	AUTO(json) document = NULL;

	put_name(&path, "/api/v1/jobs/", points->job);
	put_name(&path, "/points?raw=true&stream=", points->stream);
	buf_append_text(&path, "&metric=");
	buf_append_percent_encoded(&path, metric);
	TRY(buf_status(&path, err));
	struct http_request request = {.method = "GET", .path = buf_span(&path)};
	TRY(client_call(client, &request, &reply, err));
	if (json_parse(&document, buf_span(&reply.body), NULL) != OK)
		return error_set(err, ERR_UNAVAILABLE, "the reply is not JSON: is this an smfleet server?");
	*sent = count_without_line(document, metric);
	return OK;
}

/* Points that a log gave are none of the files': were they counted, as many of the files' would never come. */
static enum status count_sent(struct http_client *client, const struct job_points *points, struct json *row,
	struct span metric, struct error *err)
{
	char digits[24];
	uint64_t sent = 0;
	double count = 0;

	if (json_get(row, SENT))
		return OK;
	(void)json_number_of(json_get(row, "count"), &count);
	if (count > MAX_COMPARED_POINTS) {
		sent = (uint64_t)count;
		client_say(points->program,
			"stream '%s' of job '%s' has %.0f points of '%.*s', some perhaps from its log: of those of the files the first %.0f are taken to be there",
			points->stream, points->job, count, SPAN_ARGS(metric), count);
	} else {
		TRY(read_sent(client, points, metric, &sent, err));
	}
	if (sent < (uint64_t)count)
		client_say(points->program,
			"stream '%s' of job '%s' has %.0f points of '%.*s' from its log: those of the files come beside them",
			points->stream, points->job, count - (double)sent, SPAN_ARGS(metric));
	snprintf(digits, sizeof digits, "%" PRIu64, sent);
	return json_set_string(row, SENT, span_from(digits)) ? OK : error_no_memory(err);
}

/* Once for each series that the text has points of. */
static enum status count_all_sent(
	struct http_client *client, const struct job_points *points, const struct map *rows, struct error *err)
{
	struct span text = points->text, line, digits;

	while (*points->known && json_get(*points->known, MIXED) && span_next(&text, '\n', &line)) {
		AUTO(json) point = NULL;
		struct span object = line;
		if (!span_next(&object, '\t', &digits) || json_parse(&point, object, NULL) != OK)
			continue;
		struct span metric = json_string_of(json_get(point, "metric"));
		struct json *row = map_get(rows, metric);
		if (row)
			TRY(count_sent(client, points, row, metric, err));
	}
	return OK;
}

static bool is_there(const struct map *rows, bool is_time, uint64_t number, struct span object)
{
	AUTO(json) point = NULL;
	double there = 0;

	if (map_count(rows) == 0 || json_parse(&point, object, NULL) != OK)
		return false;
	const struct json *row = map_get(rows, json_string_of(json_get(point, "metric")));
	uint64_t sent;
	if (row && !is_time && span_parse_u64(json_string_of(json_get(row, SENT)), &sent))
		return number < sent;
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

static enum status write_new(struct http_client *client, const struct job_points *points, struct buf *body,
	struct job_points_count *count, struct error *err)
{
	AUTO(map) rows = map_new();

	if (!rows)
		return error_no_memory(err);
	if (points->asks) {
		json_free(*points->known);
		*points->known = NULL;
		bool has_lines = false;
		TRY(job_want_points_read(client, points->job, points->stream, &has_lines, err));
		TRY(read_series(client, points->job, points->known, err));
		if (has_lines && *points->known && !json_set_string(*points->known, MIXED, SPAN("1")))
			return error_no_memory(err);
	}
	TRY(index_series(rows, *points->known, points->stream, err));
	TRY(count_all_sent(client, points, rows, err));
	*count = (struct job_points_count){0};
	return put_body(body, points->text, rows, count, err);
}

enum status job_count_points(
	struct http_client *client, const struct job_points *points, struct job_points_count *count, struct error *err)
{
	AUTO_DONE(buf) body = BUF_INIT(MAX_POINTS_BYTES);

	return write_new(client, points, &body, count, err);
}

enum status job_send_points(
	struct http_client *client, const struct job_points *points, uint64_t *rejected, struct error *err)
{
	AUTO_DONE(buf) path = BUF_INIT(MAX_PATH_BYTES);
	AUTO_DONE(buf) body = BUF_INIT(MAX_POINTS_BYTES);
	AUTO_DONE(http_reply) reply = {0};
	struct job_points_count count;

	*rejected = 0;
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
	*rejected = count_rejected(points, &reply);
	return OK;
}
