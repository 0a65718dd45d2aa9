/* Records of whole jobs from JSON. What is wrong is told with its field; what a later format adds is not looked at. */
#include "base/crypto.h"
#include "base/json_read.h"
#include "model/point.h"
#include "pipeline/carry/carry_record.h"

#include <stdio.h>

enum { NAME_MAX_BYTES = 255, STATUS_MAX_BYTES = 64 };

static const char *const kinds[CARRY_KIND_COUNT] = {"job", "stream", "lines", "points", "incident", "end"};

const char *carry_kind_name(enum carry_kind kind)
{
	return kinds[kind];
}

/* ---- fields: all that a format has must be there ---- */

static enum status want(
	const struct json *object, const char *key, const struct json **out, const char *what, struct error *err)
{
	*out = json_get(object, key);
	return *out ? OK : error_set_field(err, ERR_SEMANTIC, key, "'%s' is missing: %s", key, what);
}

static enum status want_array(const struct json *object, const char *key, const struct json **out, struct error *err)
{
	TRY(want(object, key, out, "an array", err));
	return json_kind(*out) == JSON_ARRAY ? OK : error_set_field(err, ERR_SEMANTIC, key, "'%s' is no array", key);
}

/* Strings as the JSON's own: text of ours is valid UTF-8 without NUL. */
static enum status want_text(const struct json *object, const char *key, size_t max_bytes, struct arena *arena,
	struct span *out, struct error *err)
{
	const struct json *node;

	TRY(want(object, key, &node, "a string", err));
	struct span text = json_string_of(node);
	if (json_kind(node) != JSON_STRING || !span_is_utf8(text) || span_find_char(text, 0) >= 0)
		return error_set_field(err, ERR_SEMANTIC, key, "'%s' is no string without NUL", key);
	if (text.len > max_bytes)
		return error_set_field(
			err, ERR_SEMANTIC, key, "'%s' has %zu bytes; at most %zu are taken", key, text.len, max_bytes);
	*out = arena_copy(arena, text);
	return out->ptr ? OK : error_no_memory(err);
}

static bool read_i64(const struct json *node, int64_t *out)
{
	const double exact = 9007199254740992.0;
	double number;

	if (json_kind(node) == JSON_STRING)
		return span_parse_i64(json_string_of(node), out);
	if (!json_number_of(node, &number) || !(number >= -exact && number <= exact) ||
		number != (double)(int64_t)number)
		return false;
	*out = (int64_t)number;
	return true;
}

static enum status want_i64(
	const struct json *object, const char *key, int64_t min, int64_t max, int64_t *out, struct error *err)
{
	const struct json *node;

	TRY(want(object, key, &node, "a whole number", err));
	if (!read_i64(node, out))
		return error_set_field(err, ERR_SEMANTIC, key, "'%s' is no whole number", key);
	if (*out < min || *out > max)
		return error_set_field(err, ERR_SEMANTIC, key, "'%s' is %lld; it must be %lld to %lld", key,
			(long long)*out, (long long)min, (long long)max);
	return OK;
}

static enum status want_count(const struct json *object, const char *key, uint64_t *out, struct error *err)
{
	int64_t value = 0;

	TRY(want_i64(object, key, 0, INT64_MAX / 2, &value, err));
	*out = (uint64_t)value;
	return OK;
}

static enum status want_time(const struct json *object, const char *key, int64_t *out, struct error *err)
{
	return want_i64(object, key, INT64_MIN + 1, INT64_MAX, out, err);
}

/* Of a job or a status of it. */
static enum status want_job_time(const struct json *object, const char *key, int64_t *out, struct error *err)
{
	return want_i64(object, key, 0, JOB_LATEST_MS - 1, out, err);
}

static enum status want_bool(const struct json *object, const char *key, bool *out, struct error *err)
{
	const struct json *node;

	TRY(want(object, key, &node, "true or false", err));
	if (json_kind(node) != JSON_BOOL)
		return error_set_field(err, ERR_SEMANTIC, key, "'%s' is neither true nor false", key);
	*out = json_is_true(node);
	return OK;
}

static bool read_double(const struct json *node, double *out)
{
	return json_number_of(node, out) ||
	       (json_kind(node) == JSON_STRING && span_parse_double(json_string_of(node), out));
}

static enum status want_u32(const struct json *object, const char *key, uint32_t *out, struct error *err)
{
	int64_t number = 0;

	TRY(want_i64(object, key, 0, UINT32_MAX, &number, err));
	*out = (uint32_t)number;
	return OK;
}

static enum status want_double(const struct json *object, const char *key, double *out, struct error *err)
{
	const struct json *node;

	TRY(want(object, key, &node, "a number", err));
	return read_double(node, out) ? OK : error_set_field(err, ERR_SEMANTIC, key, "'%s' is no number", key);
}

static enum status bad_element(const char *key, size_t at, const char *what, struct error *err)
{
	char field[64];

	snprintf(field, sizeof field, "%s[%zu]", key, at);
	return error_set_field(err, ERR_SEMANTIC, field, "'%s' is no %s", field, what);
}

static enum status check_control(struct span text, const char *key, struct error *err)
{
	for (size_t i = 0; i < text.len; i++)
		if ((unsigned char)text.ptr[i] < ' ' || text.ptr[i] == 127)
			return error_set_field(
				err, ERR_SEMANTIC, key, "'%s' holds a control character at byte %zu", key, i);
	return OK;
}

static enum status want_name(const struct json *object, const char *key, size_t least, struct arena *arena,
	struct span *out, struct error *err)
{
	TRY(want_text(object, key, NAME_MAX_BYTES, arena, out, err));
	if (out->len < least)
		return error_set_field(err, ERR_SEMANTIC, key, "'%s' is empty", key);
	return check_control(*out, key, err);
}

static enum status print_json(const struct json *node, struct arena *arena, struct span *out, struct error *err)
{
	AUTO_DONE(buf) text = BUF_INIT(SIZE_MAX / 2);

	json_print(node, &text);
	TRY(buf_status(&text, err));
	*out = arena_copy(arena, buf_span(&text));
	return out->ptr ? OK : error_no_memory(err);
}

/* An element of an array that must be an object. */
static enum status want_object(const struct json *node, const char *key, size_t at, struct error *err)
{
	return json_kind(node) == JSON_OBJECT ? OK : bad_element(key, at, "object", err);
}

static enum status make_rows(
	const struct json *array, size_t row_bytes, struct arena *arena, size_t *count, void **out, struct error *err)
{
	*count = json_count(array);
	*out = arena_alloc(arena, *count * row_bytes + 1);
	if (!*out)
		return error_no_memory(err);
	memset(*out, 0, *count * row_bytes);
	return OK;
}

/* ---- job ---- */

static enum status read_transition(
	const struct json *node, struct arena *arena, struct transition_row *row, struct error *err)
{
	struct span source;

	TRY(want_text(node, "status", STATUS_MAX_BYTES, arena, &row->status, err));
	TRY(want_text(node, "message", SIZE_MAX, arena, &row->message, err));
	TRY(want_job_time(node, "start_ms", &row->start_ms, err));
	TRY(want_job_time(node, "end_ms", &row->end_ms, err));
	TRY(want_text(node, "source", STATUS_MAX_BYTES, arena, &source, err));
	for (size_t i = 0; i < sizeof carry_sources / sizeof *carry_sources; i++)
		if (span_equal(source, span_from(carry_sources[i]))) {
			row->source = (enum transition_source)i;
			return OK;
		}
	return error_set_field(err, ERR_SEMANTIC, "transitions.source",
		"a transition's source is no '%.*s', but stated, assumed, log, exit …", SPAN_ARGS(source));
}

static enum status read_transitions(
	const struct json *object, struct arena *arena, struct carry_job *job, struct error *err)
{
	const struct json *array;
	void *rows;
	size_t at = 0;

	TRY(want_array(object, "transitions", &array, err));
	TRY(make_rows(array, sizeof *job->transitions, arena, &job->transition_count, &rows, err));
	job->transitions = rows;
	for (const struct json *node = json_first(array); node; node = json_next(node), at++) {
		TRY(want_object(node, "transitions", at, err));
		TRY(read_transition(node, arena, &job->transitions[at], err));
	}
	return OK;
}

static enum status read_settings(
	const struct json *object, struct arena *arena, struct carry_job *job, struct error *err)
{
	const struct json *array;
	void *rows;
	size_t at = 0;

	TRY(want_array(object, "settings", &array, err));
	TRY(make_rows(array, sizeof *job->settings, arena, &job->setting_count, &rows, err));
	job->settings = rows;
	for (const struct json *node = json_first(array); node; node = json_next(node), at++) {
		struct setting_row *row = &job->settings[at];
		TRY(want_object(node, "settings", at, err));
		TRY(want_text(node, "key", SIZE_MAX, arena, &row->key, err));
		TRY(want_text(node, "value", SIZE_MAX, arena, &row->value, err));
		TRY(want_name(node, "stream", 1, arena, &row->stream, err));
		TRY(want_count(node, "line", &row->line, err));
	}
	return OK;
}

static enum status read_messages(
	const struct json *object, struct arena *arena, struct carry_job *job, struct error *err)
{
	const struct json *array;
	size_t at = 0;

	TRY(want_array(object, "status_messages", &array, err));
	TRY(make_rows(array, sizeof *job->messages, arena, &job->message_count, (void **)&job->messages, err));
	for (const struct json *node = json_first(array); node; node = json_next(node), at++) {
		TRY(want_object(node, "status_messages", at, err));
		TRY(want_job_time(node, "at_ms", &job->messages[at].at_ms, err));
		TRY(want_text(node, "status", STATUS_MAX_BYTES, arena, &job->messages[at].status, err));
		TRY(want_text(node, "message", SIZE_MAX, arena, &job->messages[at].message, err));
	}
	return OK;
}

static enum status check_format(const struct json *object, struct error *err)
{
	int64_t format = 0;

	TRY(want_i64(object, "format", 1, INT64_MAX, &format, err));
	if (format > CARRY_FORMAT)
		return error_set_field(err, ERR_SEMANTIC, "format",
			"this job was exported in format %lld, by a newer server; this one reads up to format %d",
			(long long)format, CARRY_FORMAT);
	return OK;
}

static enum status read_status(const struct json *object, struct arena *arena, struct job_row *row, struct error *err)
{
	static const char *const statuses[] = {"InProgress", "Completed", "Failed", "Stopping", "Stopped"};

	TRY(want_text(object, "status", STATUS_MAX_BYTES, arena, &row->status, err));
	TRY(want_text(object, "secondary", STATUS_MAX_BYTES, arena, &row->secondary, err));
	TRY(want_text(object, "failure_reason", SIZE_MAX, arena, &row->failure_reason, err));
	for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++)
		if (span_equal(row->status, span_from(statuses[i])))
			return OK;
	return error_set_field(err, ERR_SEMANTIC, "status",
		"status '%.*s' is none of InProgress, Completed, Failed, Stopping, Stopped", SPAN_ARGS(row->status));
}

static enum status read_times(const struct json *object, struct carry_job *job, struct error *err)
{
	const char *announced = json_get(object, "announced_ms") ? "announced_ms" : "created_ms"; /* of older records */
	int64_t generation = 0;

	TRY(want_job_time(object, "created_ms", &job->row.created_ms, err));
	TRY(want_job_time(object, announced, &job->row.announced_ms, err));
	TRY(want_job_time(object, "started_ms", &job->row.started_ms, err));
	TRY(want_job_time(object, "ended_ms", &job->row.ended_ms, err));
	TRY(want_job_time(object, "modified_ms", &job->row.modified_ms, err));
	TRY(want_job_time(object, "newest_event_ms", &job->newest_event_ms, err));
	TRY(want_bool(object, "is_implicit", &job->row.is_implicit, err));
	TRY(want_bool(object, "is_pinned", &job->retention.is_pinned, err));
	TRY(want_i64(object, "log_max_age_ms", 0, INT64_MAX / 2, &job->retention.max_age_ms, err));
	TRY(want_count(object, "log_max_bytes", &job->retention.max_bytes, err));
	TRY(want_i64(object, "generation", 1, INT32_MAX, &generation, err));
	job->row.generation = (uint32_t)generation;
	return OK;
}

static enum status read_document(
	const struct json *object, struct arena *arena, struct carry_job *job, struct error *err)
{
	const struct json *document, *definitions;

	TRY(want(object, "document", &document, "the job's document", err));
	if (json_kind(document) != JSON_OBJECT)
		return error_set_field(err, ERR_SEMANTIC, "document", "'document' is no object");
	TRY(print_json(document, arena, &job->row.document, err));
	TRY(want(object, "definitions", &definitions, "an array or null", err));
	job->definitions = SPAN("");
	if (json_kind(definitions) == JSON_NULL)
		return OK;
	if (json_kind(definitions) != JSON_ARRAY)
		return error_set_field(err, ERR_SEMANTIC, "definitions", "'definitions' is neither an array nor null");
	return print_json(definitions, arena, &job->definitions, err);
}

static enum status read_job(const struct json *object, struct arena *arena, struct carry_job *job, struct error *err)
{
	*job = (struct carry_job){0};
	TRY(check_format(object, err));
	TRY(want_name(object, "name", 1, arena, &job->row.name, err));
	TRY(want_name(object, "team", 0, arena, &job->row.team, err));
	TRY(read_status(object, arena, &job->row, err));
	TRY(read_times(object, job, err));
	TRY(read_document(object, arena, job, err));
	TRY(read_transitions(object, arena, job, err));
	TRY(read_messages(object, arena, job, err));
	return read_settings(object, arena, job, err);
}

/* ---- stream ---- */

static enum status read_expired(
	const struct json *object, struct arena *arena, struct expired_text *expired, struct error *err)
{
	const struct json *node;

	TRY(want(object, "expired", &node, "an object or null", err));
	if (json_kind(node) == JSON_NULL)
		return OK;
	TRY(want_count(node, "first_kept_line", &expired->first_kept_line, err));
	TRY(want_count(node, "bytes", &expired->bytes, err));
	TRY(want_time(node, "first_ms", &expired->first_ms, err));
	TRY(want_time(node, "last_ms", &expired->last_ms, err));
	TRY(want_time(node, "deleted_ms", &expired->deleted_ms, err));
	return want_text(node, "reason", STATUS_MAX_BYTES, arena, &expired->reason, err);
}

static enum status read_sources(
	const struct json *object, struct arena *arena, struct carry_stream *stream, struct error *err)
{
	const struct json *array;
	void *rows;
	size_t at = 0;

	TRY(want_array(object, "sources", &array, err));
	TRY(make_rows(array, sizeof *stream->sources, arena, &stream->source_count, &rows, err));
	stream->sources = rows;
	for (const struct json *node = json_first(array); node; node = json_next(node), at++) {
		TRY(want_object(node, "sources", at, err));
		TRY(want_name(node, "source", 0, arena, &stream->sources[at].source, err));
		TRY(want_count(node, "next_byte", &stream->sources[at].next_byte, err));
	}
	return OK;
}

static enum status read_hosts(
	const struct json *object, struct arena *arena, struct carry_stream *stream, struct error *err)
{
	const struct json *array;
	uint32_t at = 0;

	if (!json_get(object, "hosts")) /* an older server's */
		return OK;
	TRY(want_array(object, "hosts", &array, err));
	TRY(make_rows(array, sizeof *stream->hosts, arena, &stream->host_count, (void **)&stream->hosts, err));
	for (const struct json *node = json_first(array); node; node = json_next(node), at++) {
		struct stream_host_row *row = &stream->hosts[at];
		TRY(want_object(node, "hosts", at, err));
		*row = (struct stream_host_row){.number = at, .is_shared = json_is_true(json_get(node, "shared"))};
		TRY(want_name(node, "host", 1, arena, &row->host, err));
		TRY(want_count(node, "from_line", &row->from_line, err));
		TRY(want_time(node, "from_ms", &row->from_ms, err));
		TRY(want_time(node, "since_ms", &row->since_ms, err));
		TRY(want_time(node, "until_ms", &row->until_ms, err));
	}
	return OK;
}

static enum status read_exit(
	const struct json *object, struct arena *arena, struct carry_stream *stream, struct error *err)
{
	const struct json *node;
	int64_t code = 0, signal = 0;

	TRY(want(object, "exit", &node, "an object or null", err));
	if (json_kind(node) == JSON_NULL)
		return OK;
	TRY(want_i64(node, "code", INT32_MIN, INT32_MAX, &code, err));
	TRY(want_i64(node, "signal", INT32_MIN, INT32_MAX, &signal, err));
	TRY(want_text(node, "reason", SIZE_MAX, arena, &stream->exit.reason, err));
	TRY(want_time(node, "at_ms", &stream->exit.at_ms, err));
	stream->exit.code = (int32_t)code;
	stream->exit.signal = (int32_t)signal;
	stream->has_exit = true;
	return OK;
}

static enum status read_hit(
	const struct json *node, struct arena *arena, struct signature_hit_row *row, struct error *err)
{
	TRY(want_name(node, "signature", 1, arena, &row->signature, err));
	TRY(want_count(node, "first_line", &row->first_line, err));
	TRY(want_count(node, "last_line", &row->last_line, err));
	TRY(want_time(node, "first_ms", &row->first_ms, err));
	TRY(want_time(node, "last_ms", &row->last_ms, err));
	TRY(want_count(node, "count", &row->count, err));
	TRY(want_u32(node, "incident", &row->incident_id, err));
	return want_text(node, "text", SIZE_MAX, arena, &row->text, err);
}

static enum status read_hits(
	const struct json *object, struct arena *arena, struct carry_stream *stream, struct error *err)
{
	const struct json *array;
	void *rows;
	size_t at = 0;

	TRY(want_array(object, "signatures", &array, err));
	TRY(make_rows(array, sizeof *stream->hits, arena, &stream->hit_count, &rows, err));
	stream->hits = rows;
	for (const struct json *node = json_first(array); node; node = json_next(node), at++) {
		TRY(want_object(node, "signatures", at, err));
		TRY(read_hit(node, arena, &stream->hits[at], err));
	}
	return OK;
}

static enum status read_checkpoint(const struct json *node, struct checkpoint_row *row, struct error *err)
{
	int64_t line = 0;

	TRY(want_u32(node, "attempt", &row->attempt, err));
	TRY(want_time(node, "step", &row->step, err));
	TRY(want_time(node, "ts_ms", &row->ts_ms, err));
	TRY(want_i64(node, "line", -1, INT64_MAX, &line, err));
	row->line = (uint64_t)line;
	return OK;
}

static enum status read_checkpoints(
	const struct json *object, struct arena *arena, struct carry_stream *stream, struct error *err)
{
	const struct json *array;
	void *rows;
	size_t at = 0;

	TRY(want_array(object, "checkpoints", &array, err));
	TRY(make_rows(array, sizeof *stream->checkpoints, arena, &stream->checkpoint_count, &rows, err));
	stream->checkpoints = rows;
	for (const struct json *node = json_first(array); node; node = json_next(node), at++) {
		TRY(want_object(node, "checkpoints", at, err));
		TRY(read_checkpoint(node, &stream->checkpoints[at], err));
	}
	return OK;
}

static enum status read_base64(
	struct span text, const char *key, struct arena *arena, struct span *out, struct error *err)
{
	AUTO_DONE(buf) bytes = BUF_INIT(SIZE_MAX / 2);

	if (!crypto_unbase64(text, &bytes))
		return error_set_field(err, ERR_SEMANTIC, key, "'%s' is no base64", key);
	TRY(buf_status(&bytes, err));
	*out = arena_copy(arena, buf_span(&bytes));
	return out->ptr ? OK : error_no_memory(err);
}

static enum status read_stream(
	const struct json *object, struct arena *arena, struct carry_stream *stream, struct error *err)
{
	const struct json *state;

	*stream = (struct carry_stream){0};
	TRY(want_name(object, "name", 1, arena, &stream->row.name, err));
	TRY(want_name(object, "host", 0, arena, &stream->row.host, err));
	TRY(want_time(object, "created_ms", &stream->row.created_ms, err));
	TRY(want_count(object, "lines", &stream->row.sealed_lines, err));
	TRY(want_count(object, "bytes", &stream->row.sealed_bytes, err));
	TRY(want_time(object, "first_ms", &stream->row.first_ms, err));
	TRY(want_time(object, "last_ms", &stream->row.last_ms, err));
	TRY(read_expired(object, arena, &stream->expired, err));
	TRY(read_hosts(object, arena, stream, err));
	TRY(read_sources(object, arena, stream, err));
	TRY(read_exit(object, arena, stream, err));
	TRY(read_hits(object, arena, stream, err));
	TRY(read_checkpoints(object, arena, stream, err));
	TRY(want(object, "state", &state, "what the server needs to go on with the stream", err));
	return read_base64(json_string_of(state), "state", arena, &stream->row.state, err);
}

/* ---- lines ---- */

static enum status read_text(
	const struct json *node, size_t at, struct arena *arena, struct span *out, struct error *err)
{
	const struct json *base64 = json_kind(node) == JSON_OBJECT ? json_get(node, "base64") : NULL;

	if (base64 && json_kind(base64) == JSON_STRING)
		return read_base64(json_string_of(base64), "text", arena, out, err);
	if (json_kind(node) != JSON_STRING)
		return bad_element("text", at, "string, and no {\"base64\": string}", err);
	*out = arena_copy(arena, json_string_of(node));
	if (!out->ptr)
		return error_no_memory(err);
	return OK;
}

static enum status read_times_of(const struct json *object, struct carry_lines *lines, struct error *err)
{
	const struct json *array;
	size_t at = 0;

	TRY(want_array(object, "ts_ms", &array, err));
	if (json_count(array) != lines->count)
		return error_set_field(err, ERR_SEMANTIC, "ts_ms", "'ts_ms' has %zu elements, 'text' has %zu",
			json_count(array), lines->count);
	for (const struct json *node = json_first(array); node; node = json_next(node), at++)
		if (!read_i64(node, &lines->lines[at].ts_ms) || lines->lines[at].ts_ms == NO_TIME)
			return bad_element("ts_ms", at, "whole number", err);
	return OK;
}

static enum status read_flagged(
	const struct json *object, const char *key, uint32_t flag, struct carry_lines *lines, struct error *err)
{
	const struct json *array = json_get(object, key);
	size_t at = 0;

	if (array && json_kind(array) != JSON_ARRAY)
		return error_set_field(err, ERR_SEMANTIC, key, "'%s' is no array", key);
	for (const struct json *node = array ? json_first(array) : NULL; node; node = json_next(node), at++) {
		int64_t index;
		if (!read_i64(node, &index) || index < 0 || (uint64_t)index >= lines->count)
			return bad_element(key, at, "place in 'text'", err);
		lines->lines[index].flags |= flag;
	}
	return OK;
}

static enum status read_lines(
	const struct json *object, struct arena *arena, struct carry_lines *lines, struct error *err)
{
	const struct json *array;
	void *rows;
	size_t at = 0;

	*lines = (struct carry_lines){0};
	TRY(want_name(object, "stream", 1, arena, &lines->stream, err));
	TRY(want_count(object, "first", &lines->first, err));
	TRY(want_array(object, "text", &array, err));
	TRY(make_rows(array, sizeof *lines->lines, arena, &lines->count, &rows, err));
	lines->lines = rows;
	TRY(read_times_of(object, lines, err));
	for (const struct json *node = json_first(array); node; node = json_next(node), at++) {
		TRY(read_text(node, at, arena, &lines->lines[at].text, err));
		if (span_find_char(lines->lines[at].text, '\n') >= 0)
			return bad_element("text", at, "single line", err);
	}
	TRY(read_flagged(object, "cut", LINE_CUT, lines, err));
	return read_flagged(object, "open_end", LINE_OPEN_END, lines, err);
}

/* ---- points ---- */

static void set_step(struct point *point, int64_t value)
{
	point->step = value;
}

static void set_time(struct point *point, int64_t value)
{
	point->ts_ms = value;
}

static void set_attempt(struct point *point, int64_t value)
{
	point->attempt = (uint32_t)value;
}

static void set_line(struct point *point, int64_t value)
{
	point->line = (uint64_t)value; /* -1: NO_LINE */
}

struct column {
	const char *key;
	int64_t min, max;
	void (*set)(struct point *point, int64_t value);
};

static enum status read_column(
	const struct json *object, const struct column *column, struct carry_points *points, struct error *err)
{
	const struct json *array;
	size_t at = 0;

	TRY(want_array(object, column->key, &array, err));
	if (json_count(array) != points->count)
		return error_set_field(err, ERR_SEMANTIC, column->key, "'%s' has %zu elements, 'value' has %zu",
			column->key, json_count(array), points->count);
	for (const struct json *node = json_first(array); node; node = json_next(node), at++) {
		int64_t value;
		if (!read_i64(node, &value) || value < column->min || value > column->max)
			return bad_element(column->key, at, "whole number of its range", err);
		column->set(&points->points[at], value);
	}
	return OK;
}

static enum status read_values(
	const struct json *object, struct arena *arena, struct carry_points *points, struct error *err)
{
	const struct json *array;
	void *rows;
	size_t at = 0;

	TRY(want_array(object, "value", &array, err));
	TRY(make_rows(array, sizeof *points->points, arena, &points->count, &rows, err));
	points->points = rows;
	for (const struct json *node = json_first(array); node; node = json_next(node), at++)
		if (!read_double(node, &points->points[at].value))
			return bad_element("value", at, "number", err);
	return OK;
}

static enum status read_points(
	const struct json *object, struct arena *arena, struct carry_points *points, struct error *err)
{
	static const struct column columns[] = {{"step", INT64_MIN, INT64_MAX, set_step},
		{"ts_ms", INT64_MIN + 1, INT64_MAX, set_time}, {"attempt", 0, UINT32_MAX, set_attempt},
		{"line", -1, INT64_MAX, set_line}};

	*points = (struct carry_points){0};
	TRY(want_name(object, "stream", 1, arena, &points->stream, err));
	TRY(want_text(object, "metric", SIZE_MAX, arena, &points->metric, err));
	TRY(want_count(object, "first", &points->first, err));
	TRY(read_values(object, arena, points, err));
	for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
		TRY(read_column(object, &columns[i], points, err));
	return OK;
}

/* ---- incidents and the end ---- */

static enum status unknown_name(const char *key, struct span name, struct error *err)
{
	return error_set_field(err, ERR_SEMANTIC, key, "'%.*s' is no %s of an incident", SPAN_ARGS(name), key);
}

static enum status read_names(
	const struct json *object, struct arena *arena, struct incident *incident, struct error *err)
{
	struct span kind, severity, state;

	TRY(want_text(object, "kind", STATUS_MAX_BYTES, arena, &kind, err));
	TRY(want_text(object, "severity", STATUS_MAX_BYTES, arena, &severity, err));
	TRY(want_text(object, "state", STATUS_MAX_BYTES, arena, &state, err));
	if (!incident_kind_parse(kind, &incident->kind))
		return unknown_name("kind", kind, err);
	if (!severity_parse(severity, &incident->severity))
		return unknown_name("severity", severity, err);
	return incident_state_parse(state, &incident->state) ? OK : unknown_name("state", state, err);
}

static enum status read_figures(const struct json *object, struct incident *incident, struct error *err)
{
	TRY(want_double(object, "value", &incident->value, err));
	TRY(want_double(object, "expected", &incident->expected, err));
	TRY(want_double(object, "spread", &incident->spread, err));
	TRY(want_double(object, "score", &incident->score, err));
	TRY(want_double(object, "worst", &incident->worst, err));
	return want_time(object, "worst_step", &incident->worst_step, err);
}

/* What it is about beside figures: members of a JSON object. */
static enum status read_facts(
	const struct json *object, struct arena *arena, struct incident_row *row, struct error *err)
{
	AUTO_DONE(buf) whole = BUF_INIT(SIZE_MAX / 2);
	AUTO(json) facts = NULL;
	struct error cause;

	TRY(want_text(object, "facts", SIZE_MAX, arena, &row->facts, err));
	buf_append_char(&whole, '{');
	buf_append_span(&whole, row->facts);
	buf_append_char(&whole, '}');
	TRY(buf_status(&whole, err));
	if (json_parse(&facts, buf_span(&whole), &cause) == OK)
		return OK;
	return error_set_field(err, ERR_SEMANTIC, "facts", "'facts' are no members of a JSON object: %s", cause.text);
}

static enum status read_incident(
	const struct json *object, struct arena *arena, struct incident_row *row, struct error *err)
{
	struct incident *incident = &row->incident;
	int64_t id = 0, line = 0, ordinal = 0;

	*row = (struct incident_row){0};
	TRY(want_i64(object, "id", 1, INT32_MAX, &id, err));
	TRY(want_u32(object, "series", &row->series_id, err));
	TRY(read_names(object, arena, incident, err));
	TRY(want_i64(object, "opened_ordinal", INT64_MIN, INT64_MAX, &ordinal, err));
	TRY(want_time(object, "first_step", &incident->first_step, err));
	TRY(want_time(object, "last_step", &incident->last_step, err));
	TRY(want_time(object, "opened_step", &incident->opened_step, err));
	TRY(want_time(object, "opened_ms", &incident->opened_ms, err));
	TRY(want_time(object, "closed_ms", &incident->closed_ms, err));
	TRY(want_time(object, "acknowledged_ms", &row->acknowledged_ms, err));
	TRY(want_i64(object, "line", -1, INT64_MAX, &line, err));
	TRY(want_bool(object, "is_historic", &incident->is_historic, err));
	row->incident_id = (uint32_t)id;
	incident->line = (uint64_t)line;
	incident_close_parse(json_string_of(json_get(object, "closed_why")), &incident->closed_why);
	incident->opened_ordinal = (uint64_t)ordinal;
	TRY(want_i64(object, "rule", 0, INT64_MAX, &incident->rule_id, err));
	TRY(want_u32(object, "cause", &row->cause_id, err));
	TRY(want_u32(object, "fold", &row->fold_id, err));
	TRY(want_time(object, "muted_until_ms", &row->muted_until_ms, err));
	TRY(read_facts(object, arena, row, err));
	if (json_get(object, "metric")) { /* older exports leave it to the series */
		TRY(want_u32(object, "stream", &row->stream_id, err));
		TRY(want_name(object, "metric", 0, arena, &row->metric, err));
		TRY(want_u32(object, "attempt", &row->attempt, err));
		TRY(want_u32(object, "life", &row->life, err));
	}
	return read_figures(object, incident, err);
}

static enum status read_end(const struct json *object, struct arena *arena, struct carry_end *end, struct error *err)
{
	*end = (struct carry_end){0};
	TRY(want_name(object, "name", 1, arena, &end->name, err));
	TRY(want_count(object, "streams", &end->counts.streams, err));
	TRY(want_count(object, "lines", &end->counts.lines, err));
	TRY(want_count(object, "points", &end->counts.points, err));
	return want_count(object, "incidents", &end->counts.incidents, err);
}

static enum status read_kind(const struct json *object, enum carry_kind *out, struct error *err)
{
	struct span name = json_string_of(json_get(object, "record"));

	for (size_t i = 0; i < CARRY_KIND_COUNT; i++)
		if (span_equal(name, span_from(kinds[i]))) {
			*out = (enum carry_kind)i;
			return OK;
		}
	return error_set_field(err, ERR_SEMANTIC, "record",
		"each line is an object with \"record\": job, stream, lines, points, incident or end, as GET "
		"/api/v1/export writes them%s%.*s%s",
		name.len ? "; '" : "", SPAN_ARGS(name), name.len ? "' is none" : "");
}

enum status carry_read(struct span text, struct arena *arena, struct carry_record *out, struct error *err)
{
	AUTO(json) object = NULL;

	*out = (struct carry_record){0};
	TRY(json_parse(&object, text, err));
	TRY(read_kind(object, &out->kind, err));
	if (out->kind == CARRY_JOB)
		return read_job(object, arena, &out->job, err);
	if (out->kind == CARRY_STREAM)
		return read_stream(object, arena, &out->stream, err);
	if (out->kind == CARRY_LINES)
		return read_lines(object, arena, &out->lines, err);
	if (out->kind == CARRY_POINTS)
		return read_points(object, arena, &out->points, err);
	if (out->kind == CARRY_INCIDENT)
		return read_incident(object, arena, &out->incident, err);
	return read_end(object, arena, &out->end, err);
}
