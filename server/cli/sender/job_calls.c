#include "cli/sender/job_calls.h"

#include "base/json/json_write.h"
#include "cli/http/url.h"
#include "cli/spool/spool_batch.h"

#include <inttypes.h>
#include <stdio.h>

enum {
	MAX_PATH_BYTES = 8192,
	MAX_BODY_BYTES = 64 << 10,
	RAW_LINES = 4096, /* of a stream at a time, */
	RAW_LINES_LEAST = 64, /* or so many */
	CUT_LINE_BYTES = 256, /* the least at which a server cuts lines (--max-line-bytes) */
};

static void put_job_path(struct buf *path, const char *job, const char *rest)
{
	url_put_value(path, "/api/v1/jobs/", span_from(job));
	buf_append_text(path, rest);
}

static enum status post_json(struct http_client *client, struct span path, struct span body, struct error *err)
{
	AUTO_DONE(http_reply) reply = {0};
	struct http_request request = {
		.method = "POST", .path = path, .content_type = "application/json", .body = body};

	return client_call(client, &request, &reply, err);
}

enum status job_send_trace(
	struct http_client *client, const char *job, const char *run_key, struct span document, struct error *err)
{
	AUTO_DONE(buf) path = BUF_INIT(MAX_PATH_BYTES);

	put_job_path(&path, job, "/anatomy");
	if (run_key)
		url_put_value(&path, "?run_key=", span_from(run_key));
	TRY(buf_status(&path, err));
	return post_json(client, buf_span(&path), document, err);
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
	if (change->time_ms)
		json_put_i64(&w, "time_ms", change->time_ms);
	if (change->is_assumed)
		json_put_bool(&w, "assumed", true);
	if (change->message)
		json_put_text(&w, "StatusMessage", change->message);
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

static bool read_count(const struct json *document, const char *key, uint64_t *count)
{
	double number;

	if (!json_number_of(json_get(document, key), &number) || number < 0 || number > 9e15)
		return false;
	*count = (uint64_t)number;
	return true;
}

static void read_told(const struct http_reply *reply, struct job_lines_told *told)
{
	AUTO(json) document = NULL;

	if (json_parse(&document, buf_span(&reply->body), NULL) != OK)
		return;
	command_list_read(&told->commands, document);
	told->has_next = read_count(document, "next_offset", &told->next_offset);
	told->has_accepted = read_count(document, "accepted", &told->accepted);
}

enum status job_send_lines(
	struct http_client *client, const struct job_lines *lines, struct job_lines_told *told, struct error *err)
{
	AUTO_DONE(buf) path = BUF_INIT(MAX_PATH_BYTES);
	AUTO_DONE(http_reply) reply = {0};
	struct http_request request = {.method = "POST", .content_type = lines->content_type, .body = lines->body};

	told->has_next = told->has_accepted = false;
	told->commands.count = 0;
	url_put_value(&path, "/api/v1/logs?job=", span_from(lines->job));
	url_put_value(&path, "&stream=", span_from(lines->stream));
	if (*lines->host) { /* "": not known */
		url_put_value(&path, "&host=", span_from(lines->host));
	}
	if (lines->session)
		url_put_value(&path, "&session=", span_from(lines->session));
	buf_printf(&path, "&offset=%" PRIu64, lines->offset);
	if (lines->source) {
		url_put_value(&path, "&source=", span_from(lines->source));
	}
	if (lines->written_ms)
		buf_printf(&path, "&written_ms=%" PRId64, lines->written_ms);
	TRY(buf_status(&path, err));
	request.path = buf_span(&path);
	enum status status = client_call(client, &request, &reply, err);
	if (status == OK || status == ERR_CONFLICT)
		read_told(&reply, told);
	return status;
}

/* What is acknowledged is stored, and read a moment later: until then a stream's last time is that of a line in its middle. */
static enum status want_all_read(
	const struct json *row, const char *stored_key, const char *read_key, struct error *err)
{
	int64_t stored = 0;

	TRY(json_want_i64(row, stored_key, &stored, err));
	int64_t done = stored; /* a server that does not say */
	TRY(json_want_i64(row, read_key, &done, err));
	return done < stored ? error_set(err, ERR_BUSY, "the server has not read all %s yet", stored_key) : OK;
}

static enum status read_streams(
	struct http_client *client, const char *job, const char *query, struct json **document, struct error *err)
{
	AUTO_DONE(buf) path = BUF_INIT(MAX_PATH_BYTES);

	put_job_path(&path, job, "/streams");
	buf_append_text(&path, query);
	return client_get_json(client, &path, document, err);
}

static const struct json *find_stream(const struct json *document, const char *stream)
{
	const struct json *row = json_first(json_get(document, "streams"));

	while (row && !span_equal(json_string_of(json_get(row, "stream")), span_from(stream)))
		row = json_next(row);
	return row;
}

/* "import" or "import+BASE"? */
static bool is_import(struct span name, uint64_t *base)
{
	struct span prefix = SPAN(JOB_IMPORT_SOURCE "+");
	int64_t number = 0;

	if (span_starts_with(name, prefix) && !span_parse_i64(span_skip(name, prefix.len), &number))
		return false;
	*base = number > 0 ? (uint64_t)number : 0;
	return number > 0 || span_equal(name, SPAN(JOB_IMPORT_SOURCE));
}

static void name_source(struct job_imported *imported)
{
	if (imported->base)
		snprintf(imported->source, sizeof imported->source, JOB_IMPORT_SOURCE "+%" PRIu64, imported->base);
	else
		snprintf(imported->source, sizeof imported->source, JOB_IMPORT_SOURCE);
}

/*
 * What came with an offset alone, or of a start of its command, is the start of the file where no import said so: an older import's, or the
 * command's own.
 */
static enum status count_imported(const struct json *sources, struct job_imported *imported, struct error *err)
{
	uint64_t plain = 0, base;
	bool is_known = false;

	for (const struct json *entry = sources ? json_first(sources) : NULL; entry; entry = json_next(entry)) {
		double number = 0;
		if (!json_number_of(entry, &number) || number < 0 || number > 9e15)
			return error_set(err, ERR_UNAVAILABLE, "the server's count of a source is no number");
		if (!json_key_of(entry).len || span_starts_with(json_key_of(entry), SPAN(JOB_START_SOURCE)))
			plain += (uint64_t)number;
		if (!is_import(json_key_of(entry), &base) || (is_known && base + (uint64_t)number < imported->bytes))
			continue;
		is_known = true;
		imported->base = base;
		imported->bytes = base + (uint64_t)number;
	}
	if (!is_known)
		imported->base = imported->bytes = plain;
	imported->is_guess = !is_known && plain;
	name_source(imported);
	return OK;
}

static enum status read_deleted(const struct json *row, struct job_imported *imported, struct error *err)
{
	int64_t lines = 0;

	TRY(json_want_i64(row, "deleted_lines", &lines, err));
	imported->deleted_lines = lines > 0 ? (uint64_t)lines : 0;
	imported->is_unchecked = imported->is_guess && lines > 0;
	imported->is_guess &= lines <= 0;
	return OK;
}

enum status job_read_imported(struct http_client *client, const char *job, const char *stream,
	struct job_imported *imported, struct error *err)
{
	AUTO(json) document = NULL;
	int64_t stored = 0;

	*imported = (struct job_imported){0};
	enum status status = read_streams(client, job, "?sources=true", &document, err);
	bool is_told = status != ERR_INVALID; /* by a server before that parameter */
	if (!is_told)
		status = read_streams(client, job, "", &document, err);
	TRY(status);
	const struct json *row = find_stream(document, stream);
	if (is_told) {
		TRY(count_imported(row ? json_get(row, "sources") : NULL, imported, err));
		imported->is_guess &= row != NULL;
		if (row)
			TRY(read_deleted(row, imported, err));
		return OK;
	}
	if (row)
		TRY(json_want_i64(row, "bytes", &stored, err));
	imported->bytes = stored > 0 ? (uint64_t)stored : 0;
	return OK;
}

void job_import_from(struct job_imported *imported, uint64_t base)
{
	imported->base = imported->bytes = base;
	imported->is_guess = false;
	name_source(imported);
}

/* The last one may lack its end. */
static bool take_line(struct span *text, struct span *line)
{
	ptrdiff_t end = span_find_char(*text, '\n');

	if (!text->len)
		return false;
	*line = end < 0 ? *text : span_of(text->ptr, (size_t)end);
	*text = span_skip(*text, line->len + (end >= 0));
	return true;
}

/* The server cuts lines that are too long for it, and takes those in pieces that are too long for sm-ship. */
static bool is_beginning(struct span line, struct span wanted)
{
	return line.len >= CUT_LINE_BYTES && line.len < wanted.len && span_starts_with(wanted, line);
}

/* The stored line in front of the text: how many bytes of that it stands for; 0: it is another's. */
static size_t match_line(struct span text, struct span line)
{
	struct span rest = text, wanted;

	if (!take_line(&rest, &wanted))
		return 0;
	if (is_beginning(line, wanted) && line.len >= SPOOL_MAX_LINE_BYTES)
		return line.len;
	return span_equal(line, wanted) || is_beginning(line, wanted) ? text.len - rest.len : 0;
}

/* Fewer where so many are too long for one reply. */
static enum status read_raw(struct http_client *client, const char *job, const char *stream, uint64_t from,
	struct http_reply *reply, struct error *err)
{
	enum status status = ERR_TOO_LARGE;

	for (unsigned limit = RAW_LINES; limit >= RAW_LINES_LEAST && status == ERR_TOO_LARGE;
		limit /= RAW_LINES_LEAST) {
		AUTO_DONE(buf) path = BUF_INIT(MAX_PATH_BYTES);
		struct http_request request = {.method = "GET"};
		put_job_path(&path, job, "/logs/raw?stream=");
		buf_append_percent_encoded(&path, span_from(stream));
		buf_printf(&path, "&from=%" PRIu64 "&limit=%u", from, limit);
		TRY(buf_status(&path, err));
		request.path = buf_span(&path);
		http_reply_done(reply);
		status = client_fetch(client, &request, reply, err);
	}
	return status == ERR_TOO_LARGE ? ERR_UNAVAILABLE : status;
}

enum status job_match_imported(struct http_client *client, const char *job, const char *stream, struct span text,
	struct job_imported *imported, size_t *matched, struct error *err)
{
	struct span rest = text, line;
	uint64_t at = imported->line, behind = at;
	bool has_lines = true;

	while (rest.len && has_lines) {
		AUTO_DONE(http_reply) reply = {0};
		TRY(read_raw(client, job, stream, at, &reply, err));
		struct span body = buf_span(&reply.body);
		has_lines = body.len > 0;
		for (; rest.len && take_line(&body, &line); at++) {
			size_t bytes = match_line(rest, line);
			if (!bytes)
				continue;
			behind = at + 1;
			rest = span_skip(rest, bytes);
		}
	}
	*matched = text.len - rest.len;
	imported->line = behind;
	imported->is_at_end = !has_lines && at == behind;
	return OK;
}

/* Where a server has no route it has none for OPTIONS; where it has one that needs neither a job nor a scope. */
static enum status find_route(struct http_client *client, const struct buf *path, bool *is_there, struct error *err)
{
	AUTO_DONE(http_reply) reply = {0};
	struct http_request request = {.method = "OPTIONS", .path = buf_span(path)};
	enum status status = client_fetch(client, &request, &reply, err);

	*is_there = status == OK;
	return client_is_passing(status) ? status : OK;
}

/*
 * An older server has no /stated, which is 404 then whether there is such a job or not, and tells the same to who may read the job. Who may
 * not is refused that by a newer one, too, whose 404 was about the job.
 */
enum status job_read_document(struct http_client *client, const char *job, struct json **document, struct error *err)
{
	AUTO_DONE(buf) path = BUF_INIT(MAX_PATH_BYTES);
	AUTO_DONE(buf) whole = BUF_INIT(MAX_PATH_BYTES);
	bool has_route = false;

	*document = NULL;
	put_job_path(&path, job, "/stated");
	enum status status = client_get_json(client, &path, document, err);
	if (status != ERR_NOT_FOUND)
		return status;
	put_job_path(&whole, job, "");
	status = client_get_json(client, &whole, document, err);
	if (status == ERR_FORBIDDEN) {
		struct error refused = *err;
		TRY(find_route(client, &path, &has_route, err));
		*err = refused;
	}
	return status == ERR_NOT_FOUND || has_route ? OK : status;
}

enum status job_read_is_over(struct http_client *client, const char *job, bool *is_over, struct error *err)
{
	AUTO(json) document = NULL;

	TRY(job_read_document(client, job, &document, err));
	struct span status = document ? json_string_of(json_get(document, "TrainingJobStatus")) : SPAN("InProgress");
	*is_over = !span_equal(status, SPAN("InProgress")) && !span_equal(status, SPAN("Stopping"));
	return OK;
}

enum status job_awaits_log(
	struct http_client *client, const char *job, int64_t since_ms, bool *awaits, struct error *err)
{
	AUTO(json) document = NULL;
	double began_ms;

	TRY(job_read_document(client, job, &document, err));
	*awaits = document && json_number_of(json_get(document, "log_awaited_ms"), &began_ms) &&
		  began_ms >= (double)since_ms;
	return OK;
}

enum status job_want_points_read(
	struct http_client *client, const char *job, const char *stream, bool *has_lines, struct error *err)
{
	AUTO(json) document = NULL;

	*has_lines = false;
	enum status status = read_streams(client, job, "", &document, err);
	if (status == ERR_NOT_FOUND)
		return OK;
	TRY(status);
	const struct json *row = json_first(json_get(document, "streams"));
	for (; row; row = json_next(row))
		if (span_equal(json_string_of(json_get(row, "stream")), span_from(stream))) {
			double lines = 0;
			*has_lines = json_number_of(json_get(row, "lines"), &lines) && lines > 0;
			return want_all_read(row, "sent_points", "extracted_points", err);
		}
	return OK;
}

enum status job_read_times(
	struct http_client *client, const char *job, int64_t *first_ms, int64_t *last_ms, struct error *err)
{
	AUTO(json) document = NULL;
	bool has_times = false;

	enum status status = read_streams(client, job, "", &document, err);
	if (status == ERR_NOT_FOUND)
		return OK;
	TRY(status);
	const struct json *row = json_first(json_get(document, "streams"));
	for (; row; row = json_next(row)) {
		int64_t first = 0, last = 0;
		if (span_starts_with(json_string_of(json_get(row, "stream")), SPAN("system/")))
			continue; /* a machine's own */
		TRY(want_all_read(row, "lines", "extracted_lines", err));
		TRY(want_all_read(row, "sent_points", "extracted_points", err));
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
