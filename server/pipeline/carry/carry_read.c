/* Records of whole jobs from JSON. What is wrong is told with its field; what a later format adds is not looked at. */
#include "base/crypto.h"
#include "model/incident.h"
#include "model/metrics/point.h"
#include "pipeline/carry/carry_evaluation.h"
#include "pipeline/carry/carry_trace.h"
#include "pipeline/carry/carry_read_history.h"
#include "pipeline/carry/carry_read_incident.h"
#include "pipeline/carry/carry_read_note.h"
#include "pipeline/carry/carry_record.h"
#include "pipeline/carry/carry_want.h"
#include "store/job_facts.h"
#include "store/jobs.h"
#include "store/retention.h"

static const char *const kinds[CARRY_KIND_COUNT] = {
	"job", "stream", "lines", "points", "incident", "note", "evaluation", "trace", "attachment", "part", "end"};

const char *carry_kind_name(enum carry_kind kind)
{
	return kinds[kind];
}

/* ---- job ---- */

static enum status read_settings(
	const struct json *object, struct arena *arena, struct carry_job *job, struct error *err)
{
	const struct json *array;
	void *rows;
	size_t at = 0;

	TRY(want_array(object, "settings", &array, err));
	TRY(want_rows(array, sizeof *job->settings, arena, &job->setting_count, &rows, err));
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
	TRY(want_rows(array, sizeof *job->messages, arena, &job->message_count, (void **)&job->messages, err));
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

	TRY(want_node(object, "document", &document, "the job's document", err));
	if (json_kind(document) != JSON_OBJECT)
		return error_set_field(err, ERR_SEMANTIC, "document", "'document' is no object");
	TRY(want_printed(document, arena, &job->row.document, err));
	TRY(want_node(object, "definitions", &definitions, "an array or null", err));
	job->definitions = SPAN("");
	if (json_kind(definitions) == JSON_NULL)
		return OK;
	if (json_kind(definitions) != JSON_ARRAY)
		return error_set_field(err, ERR_SEMANTIC, "definitions", "'definitions' is neither an array nor null");
	return want_printed(definitions, arena, &job->definitions, err);
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
	TRY(carry_read_history(object, arena, job, err));
	TRY(read_messages(object, arena, job, err));
	return read_settings(object, arena, job, err);
}

/* ---- stream ---- */

static enum status read_expired(
	const struct json *object, struct arena *arena, struct expired_text *expired, struct error *err)
{
	const struct json *node;

	TRY(want_node(object, "expired", &node, "an object or null", err));
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
	TRY(want_rows(array, sizeof *stream->sources, arena, &stream->source_count, &rows, err));
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
	TRY(want_rows(array, sizeof *stream->hosts, arena, &stream->host_count, (void **)&stream->hosts, err));
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

static enum status read_session(const struct json *object, struct carry_stream *stream, struct error *err)
{
	const struct json *node = json_get(object, "session_ms");

	stream->has_session = node && json_kind(node) != JSON_NULL; /* older servers do not say */
	return stream->has_session ? want_time(object, "session_ms", &stream->session_ms, err) : OK;
}

static enum status read_exit(
	const struct json *object, struct arena *arena, struct carry_stream *stream, struct error *err)
{
	const struct json *node;
	int64_t code = 0, signal = 0;

	TRY(want_node(object, "exit", &node, "an object or null", err));
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
	TRY(want_text(node, "text", SIZE_MAX, arena, &row->text, err));
	row->is_of_nobody = json_is_true(json_get(node, "of_nobody"));
	row->host = SPAN("");
	if (!json_get(node, "host")) /* an older server's */
		return OK;
	return want_text(node, "host", SIZE_MAX, arena, &row->host, err);
}

static enum status read_hits(
	const struct json *object, struct arena *arena, struct carry_stream *stream, struct error *err)
{
	const struct json *array;
	void *rows;
	size_t at = 0;

	TRY(want_array(object, "signatures", &array, err));
	TRY(want_rows(array, sizeof *stream->hits, arena, &stream->hit_count, &rows, err));
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
	TRY(want_rows(array, sizeof *stream->checkpoints, arena, &stream->checkpoint_count, &rows, err));
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
	TRY(read_session(object, stream, err));
	TRY(read_exit(object, arena, stream, err));
	TRY(read_hits(object, arena, stream, err));
	TRY(read_checkpoints(object, arena, stream, err));
	TRY(want_node(object, "state", &state, "what the server needs to go on with the stream", err));
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
		return want_bad_element("text", at, "string, and no {\"base64\": string}", err);
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
		if (!want_parse_i64(node, &lines->lines[at].ts_ms) || lines->lines[at].ts_ms == NO_TIME)
			return want_bad_element("ts_ms", at, "whole number", err);
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
		if (!want_parse_i64(node, &index) || index < 0 || (uint64_t)index >= lines->count)
			return want_bad_element(key, at, "place in 'text'", err);
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
	TRY(want_rows(array, sizeof *lines->lines, arena, &lines->count, &rows, err));
	lines->lines = rows;
	TRY(read_times_of(object, lines, err));
	for (const struct json *node = json_first(array); node; node = json_next(node), at++) {
		TRY(read_text(node, at, arena, &lines->lines[at].text, err));
		if (span_find_char(lines->lines[at].text, '\n') >= 0)
			return want_bad_element("text", at, "single line", err);
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
		if (!want_parse_i64(node, &value) || value < column->min || value > column->max)
			return want_bad_element(column->key, at, "whole number of its range", err);
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
	TRY(want_rows(array, sizeof *points->points, arena, &points->count, &rows, err));
	points->points = rows;
	for (const struct json *node = json_first(array); node; node = json_next(node), at++)
		if (!want_parse_double(node, &points->points[at].value))
			return want_bad_element("value", at, "number", err);
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

/* ---- the end ---- */

static enum status read_end(const struct json *object, struct arena *arena, struct carry_end *end, struct error *err)
{
	*end = (struct carry_end){0};
	TRY(want_name(object, "name", 1, arena, &end->name, err));
	TRY(want_count(object, "streams", &end->counts.streams, err));
	TRY(want_count(object, "lines", &end->counts.lines, err));
	TRY(want_count(object, "points", &end->counts.points, err));
	TRY(want_count(object, "incidents", &end->counts.incidents, err));
	if (json_get(object, "notes"))
		TRY(want_count(object, "notes", &end->counts.notes, err));
	if (json_get(object, "evaluations"))
		TRY(want_count(object, "evaluations", &end->counts.evaluations, err));
	if (json_get(object, "traces"))
		TRY(want_count(object, "traces", &end->counts.traces, err));
	return json_get(object, "attachments") ? want_count(object, "attachments", &end->counts.attachments, err) : OK;
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
		"each line is an object with \"record\": job, stream, lines, points, incident, note, evaluation, trace, attachment, part or end, as GET "
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
		return carry_read_incident(object, arena, &out->incident, err);
	if (out->kind == CARRY_NOTE)
		return carry_read_note(object, arena, &out->note, err);
	if (out->kind == CARRY_EVALUATION)
		return carry_read_evaluation(object, arena, &out->evaluation, err);
	if (out->kind == CARRY_TRACE)
		return carry_read_trace(object, arena, &out->trace, err);
	if (out->kind == CARRY_ATTACHMENT)
		return carry_read_attachment(object, arena, &out->attachment, err);
	if (out->kind == CARRY_PART)
		return carry_read_part(object, arena, &out->part, err);
	return read_end(object, arena, &out->end, err);
}
