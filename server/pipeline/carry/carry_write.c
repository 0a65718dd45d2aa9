/* Records of whole jobs as JSON: every field each time and in one order, so that what is equal is equal byte for byte. */
#include "base/crypto.h"
#include "model/incident.h"
#include "pipeline/carry/carry_evaluation.h"
#include "pipeline/carry/carry_trace.h"
#include "pipeline/carry/carry_record.h"
#include "store/alerts.h"
#include "store/job_facts.h"
#include "store/jobs.h"
#include "store/retention.h"
#include "store/streams.h"
#include "store/transitions.h"

#include <stdio.h>

/* Most readers of JSON have doubles for numbers: what is beyond their whole numbers is a string of digits. */
static void put_i64(struct json_writer *w, const char *key, int64_t value)
{
	const int64_t exact = INT64_C(1) << 53;
	char digits[24];

	if (key)
		json_key(w, key);
	if (value >= -exact && value <= exact) {
		json_i64(w, value);
		return;
	}
	snprintf(digits, sizeof digits, "%lld", (long long)value);
	json_text(w, digits);
}

static void put_base64(struct json_writer *w, struct span bytes)
{
	AUTO_DONE(buf) text = BUF_INIT(SIZE_MAX / 2);

	crypto_base64(bytes, &text);
	if (text.failure)
		w->out->failure = text.failure;
	json_span(w, buf_span(&text));
}

/* Text that JSON cannot hold as it is comes as {"base64": …}. */
static void put_bytes(struct json_writer *w, struct span bytes)
{
	if (span_is_utf8(bytes) && span_find_char(bytes, 0) < 0) {
		json_span(w, bytes);
		return;
	}
	json_object(w);
	json_key(w, "base64");
	put_base64(w, bytes);
	json_object_end(w);
}

/* ---- job ---- */

const char *const carry_sources[] = {
	"stated", "assumed", "log", "exit", "session", "dated", "by_hand", "assumed_by_hand"};

static void write_transitions(const struct carry_job *job, struct json_writer *w)
{
	json_key(w, "transitions");
	json_array(w);
	for (size_t i = 0; i < job->transition_count; i++) {
		const struct transition_row *row = &job->transitions[i];
		json_object(w);
		json_put_span(w, "status", row->status);
		json_put_span(w, "message", row->message);
		put_i64(w, "start_ms", row->start_ms);
		put_i64(w, "end_ms", row->end_ms);
		json_put_text(w, "source", carry_sources[row->source]);
		json_object_end(w);
	}
	json_array_end(w);
}

static void write_told_row(const struct told_row *row, struct json_writer *w)
{
	json_object(w);
	json_put_span(w, "status", row->status);
	json_put_span(w, "message", row->message);
	json_put_span(w, "reason", row->reason);
	put_i64(w, "start_ms", row->start_ms);
	put_i64(w, "lifts_ms", row->lifts_ms);
	json_put_bool(w, "is_whole", row->is_whole);
	json_put_bool(w, "is_undated", row->is_undated);
	json_put_text(w, "source", carry_sources[row->source]);
	json_object_end(w);
}

static void write_told(const struct carry_job *job, struct json_writer *w)
{
	if (!job->has_told)
		return;
	json_key(w, "told");
	json_array(w);
	for (size_t i = 0; i < job->told_count; i++)
		write_told_row(&job->told[i], w);
	json_array_end(w);
	json_key(w, "event_times");
	if (!job->event_times.is_told) {
		json_null(w);
		return;
	}
	json_object(w);
	put_i64(w, "started_ms", job->event_times.started_ms);
	put_i64(w, "ended_ms", job->event_times.ended_ms);
	json_object_end(w);
}

static void write_settings(const struct carry_job *job, struct json_writer *w)
{
	json_key(w, "settings");
	json_array(w);
	for (size_t i = 0; i < job->setting_count; i++) {
		const struct setting_row *row = &job->settings[i];
		json_object(w);
		json_put_span(w, "key", row->key);
		json_put_span(w, "value", row->value);
		json_put_span(w, "stream", row->stream);
		put_i64(w, "line", (int64_t)row->line);
		json_object_end(w);
	}
	json_array_end(w);
}

static void write_messages(const struct carry_job *job, struct json_writer *w)
{
	json_key(w, "status_messages");
	json_array(w);
	for (size_t i = 0; i < job->message_count; i++) {
		json_object(w);
		put_i64(w, "at_ms", job->messages[i].at_ms);
		json_put_span(w, "status", job->messages[i].status);
		json_put_span(w, "message", job->messages[i].message);
		json_object_end(w);
	}
	json_array_end(w);
}

static void write_job(const struct carry_job *job, struct json_writer *w)
{
	const struct job_row *row = &job->row;

	json_put_i64(w, "format", CARRY_FORMAT);
	json_put_span(w, "name", row->name);
	json_put_span(w, "team", row->team);
	json_put_span(w, "status", row->status);
	json_put_span(w, "secondary", row->secondary);
	json_put_span(w, "failure_reason", row->failure_reason);
	put_i64(w, "created_ms", row->created_ms);
	put_i64(w, "announced_ms", row->announced_ms);
	put_i64(w, "started_ms", row->started_ms);
	put_i64(w, "ended_ms", row->ended_ms);
	put_i64(w, "modified_ms", row->modified_ms);
	put_i64(w, "newest_event_ms", job->newest_event_ms);
	json_put_bool(w, "is_implicit", row->is_implicit);
	json_put_bool(w, "is_pinned", job->retention.is_pinned);
	put_i64(w, "log_max_age_ms", job->retention.max_age_ms);
	put_i64(w, "log_max_bytes", (int64_t)job->retention.max_bytes);
	json_put_i64(w, "generation", row->generation);
	json_key(w, "definitions");
	json_raw(w, job->definitions.len ? job->definitions : SPAN("null"));
	json_key(w, "document");
	json_raw(w, row->document);
	write_transitions(job, w);
	write_told(job, w);
	write_messages(job, w);
	write_settings(job, w);
}

/* ---- stream ---- */

static void write_expired(const struct expired_text *expired, struct json_writer *w)
{
	json_key(w, "expired");
	if (!expired->first_kept_line) {
		json_null(w);
		return;
	}
	json_object(w);
	put_i64(w, "first_kept_line", (int64_t)expired->first_kept_line);
	put_i64(w, "bytes", (int64_t)expired->bytes);
	put_i64(w, "first_ms", expired->first_ms);
	put_i64(w, "last_ms", expired->last_ms);
	put_i64(w, "deleted_ms", expired->deleted_ms);
	json_put_span(w, "reason", expired->reason);
	json_object_end(w);
}

static void write_sources(const struct carry_stream *stream, struct json_writer *w)
{
	json_key(w, "sources");
	json_array(w);
	for (size_t i = 0; i < stream->source_count; i++) {
		json_object(w);
		json_put_span(w, "source", stream->sources[i].source);
		put_i64(w, "next_byte", (int64_t)stream->sources[i].next_byte);
		json_object_end(w);
	}
	json_array_end(w);
}

static void write_hosts(const struct carry_stream *stream, struct json_writer *w)
{
	json_key(w, "hosts");
	json_array(w);
	for (size_t i = 0; i < stream->host_count; i++) {
		const struct stream_host_row *row = &stream->hosts[i];
		json_object(w);
		json_put_span(w, "host", row->host);
		put_i64(w, "from_line", (int64_t)row->from_line);
		put_i64(w, "from_ms", row->from_ms);
		put_i64(w, "since_ms", row->since_ms);
		put_i64(w, "until_ms", row->until_ms);
		json_put_bool(w, "shared", row->is_shared);
		json_object_end(w);
	}
	json_array_end(w);
}

static void write_hits(const struct carry_stream *stream, struct json_writer *w)
{
	json_key(w, "signatures");
	json_array(w);
	for (size_t i = 0; i < stream->hit_count; i++) {
		const struct signature_hit_row *hit = &stream->hits[i];
		json_object(w);
		json_put_span(w, "signature", hit->signature);
		put_i64(w, "first_line", (int64_t)hit->first_line);
		put_i64(w, "last_line", (int64_t)hit->last_line);
		put_i64(w, "first_ms", hit->first_ms);
		put_i64(w, "last_ms", hit->last_ms);
		put_i64(w, "count", (int64_t)hit->count);
		put_i64(w, "incident", hit->incident_id);
		json_put_span(w, "text", hit->text);
		json_put_span(w, "host", hit->host);
		json_put_bool(w, "of_nobody", hit->is_of_nobody);
		json_object_end(w);
	}
	json_array_end(w);
}

static void write_checkpoints(const struct carry_stream *stream, struct json_writer *w)
{
	json_key(w, "checkpoints");
	json_array(w);
	for (size_t i = 0; i < stream->checkpoint_count; i++) {
		const struct checkpoint_row *checkpoint = &stream->checkpoints[i];
		json_object(w);
		put_i64(w, "attempt", checkpoint->attempt);
		put_i64(w, "step", checkpoint->step);
		put_i64(w, "ts_ms", checkpoint->ts_ms);
		put_i64(w, "line", (int64_t)checkpoint->line);
		json_object_end(w);
	}
	json_array_end(w);
}

static void write_exit(const struct carry_stream *stream, struct json_writer *w)
{
	json_key(w, "exit");
	if (!stream->has_exit) {
		json_null(w);
		return;
	}
	json_object(w);
	json_put_i64(w, "code", stream->exit.code);
	json_put_i64(w, "signal", stream->exit.signal);
	json_put_span(w, "reason", stream->exit.reason);
	put_i64(w, "at_ms", stream->exit.at_ms);
	json_object_end(w);
}

static void write_stream(const struct carry_stream *stream, struct json_writer *w)
{
	const struct stream_row *row = &stream->row;

	json_put_span(w, "name", row->name);
	json_put_span(w, "host", row->host);
	put_i64(w, "created_ms", row->created_ms);
	put_i64(w, "lines", (int64_t)row->sealed_lines);
	put_i64(w, "bytes", (int64_t)row->sealed_bytes);
	put_i64(w, "first_ms", row->first_ms);
	put_i64(w, "last_ms", row->last_ms);
	write_expired(&stream->expired, w);
	write_hosts(stream, w);
	write_sources(stream, w);
	json_key(w, "session_ms");
	if (stream->has_session)
		put_i64(w, NULL, stream->session_ms);
	else
		json_null(w);
	write_exit(stream, w);
	write_hits(stream, w);
	write_checkpoints(stream, w);
	json_key(w, "state");
	put_base64(w, row->state);
}

/* ---- lines and points ---- */

static void write_flagged(const struct carry_lines *lines, const char *key, uint32_t flag, struct json_writer *w)
{
	bool has_any = false;

	for (size_t i = 0; i < lines->count; i++) {
		if (!(lines->lines[i].flags & flag))
			continue;
		if (!has_any) {
			json_key(w, key);
			json_array(w);
		}
		has_any = true;
		json_i64(w, (int64_t)i);
	}
	if (has_any)
		json_array_end(w);
}

static void write_lines(const struct carry_lines *lines, struct json_writer *w)
{
	json_put_span(w, "stream", lines->stream);
	put_i64(w, "first", (int64_t)lines->first);
	json_key(w, "ts_ms");
	json_array(w);
	for (size_t i = 0; i < lines->count; i++)
		put_i64(w, NULL, lines->lines[i].ts_ms);
	json_array_end(w);
	json_key(w, "text");
	json_array(w);
	for (size_t i = 0; i < lines->count; i++)
		put_bytes(w, lines->lines[i].text);
	json_array_end(w);
	write_flagged(lines, "cut", LINE_CUT, w);
	write_flagged(lines, "open_end", LINE_OPEN_END, w);
}

static void write_column(
	const struct carry_points *points, const char *key, int64_t (*of)(const struct point *), struct json_writer *w)
{
	json_key(w, key);
	json_array(w);
	for (size_t i = 0; i < points->count; i++)
		put_i64(w, NULL, of(&points->points[i]));
	json_array_end(w);
}

static int64_t step_of(const struct point *point)
{
	return point->step;
}

static int64_t time_of(const struct point *point)
{
	return point->ts_ms;
}

static int64_t attempt_of(const struct point *point)
{
	return point->attempt;
}

static int64_t line_of(const struct point *point)
{
	return (int64_t)point->line; /* NO_LINE: -1 */
}

static void write_points(const struct carry_points *points, struct json_writer *w)
{
	json_put_span(w, "stream", points->stream);
	json_put_span(w, "metric", points->metric);
	put_i64(w, "first", (int64_t)points->first);
	write_column(points, "step", step_of, w);
	write_column(points, "ts_ms", time_of, w);
	json_key(w, "value");
	json_array(w);
	for (size_t i = 0; i < points->count; i++)
		json_double(w, points->points[i].value);
	json_array_end(w);
	write_column(points, "attempt", attempt_of, w);
	write_column(points, "line", line_of, w);
}

/* ---- incidents and the end ---- */

static void write_incident(const struct incident_row *row, struct json_writer *w)
{
	const struct incident *incident = &row->incident;

	json_put_i64(w, "id", row->incident_id);
	json_put_i64(w, "series", row->series_id);
	put_i64(w, "stream", row->stream_id);
	json_put_span(w, "metric", row->metric);
	json_put_text(w, "kind", incident_kind_name(incident->kind));
	json_put_text(w, "severity", severity_name(incident->severity));
	json_put_text(w, "state", incident_state_name(incident->state));
	put_i64(w, "opened_ordinal", (int64_t)incident->opened_ordinal);
	put_i64(w, "first_step", incident->first_step);
	put_i64(w, "last_step", incident->last_step);
	put_i64(w, "opened_step", incident->opened_step);
	put_i64(w, "opened_ms", incident->opened_ms);
	put_i64(w, "closed_ms", incident->closed_ms);
	if (incident_close_name(incident->closed_why))
		json_put_text(w, "closed_why", incident_close_name(incident->closed_why));
	put_i64(w, "acknowledged_ms", row->acknowledged_ms);
	put_i64(w, "line", (int64_t)incident->line);
	json_put_bool(w, "is_historic", incident->is_historic);
	json_put_double(w, "value", incident->value);
	json_put_double(w, "expected", incident->expected);
	json_put_double(w, "spread", incident->spread);
	json_put_double(w, "score", incident->score);
	json_put_double(w, "worst", incident->worst);
	put_i64(w, "worst_step", incident->worst_step);
	put_i64(w, "rule", incident->rule_id);
	put_i64(w, "cause", row->cause_id);
	put_i64(w, "fold", row->fold_id);
	put_i64(w, "attempt", row->attempt);
	put_i64(w, "life", row->life);
	put_i64(w, "muted_until_ms", row->muted_until_ms);
	json_put_span(w, "facts", row->facts);
}

static void write_note(const struct note_row *row, struct json_writer *w)
{
	json_put_text(w, "at", note_places[row->place]);
	json_key(w, "step");
	if (row->has_step)
		put_i64(w, NULL, row->step);
	else
		json_null(w);
	put_i64(w, "ts_ms", row->ts_ms);
	json_put_span(w, "stream", row->stream);
	put_i64(w, "line", (int64_t)row->line);
	json_put_span(w, "text", row->text);
	json_put_span(w, "author", row->author);
	json_put_span(w, "key", row->key);
	put_i64(w, "created_ms", row->created_ms);
	put_i64(w, "modified_ms", row->modified_ms);
}

static void write_end(const struct carry_end *end, struct json_writer *w)
{
	json_put_span(w, "name", end->name);
	put_i64(w, "streams", (int64_t)end->counts.streams);
	put_i64(w, "lines", (int64_t)end->counts.lines);
	put_i64(w, "points", (int64_t)end->counts.points);
	put_i64(w, "incidents", (int64_t)end->counts.incidents);
	put_i64(w, "notes", (int64_t)end->counts.notes);
	put_i64(w, "evaluations", (int64_t)end->counts.evaluations);
	put_i64(w, "traces", (int64_t)end->counts.traces);
	put_i64(w, "attachments", (int64_t)end->counts.attachments);
}

void carry_write(const struct carry_record *record, struct buf *out)
{
	struct json_writer w = json_writer_on(out);

	json_object(&w);
	json_put_text(&w, "record", carry_kind_name(record->kind));
	if (record->kind == CARRY_JOB)
		write_job(&record->job, &w);
	else if (record->kind == CARRY_STREAM)
		write_stream(&record->stream, &w);
	else if (record->kind == CARRY_LINES)
		write_lines(&record->lines, &w);
	else if (record->kind == CARRY_POINTS)
		write_points(&record->points, &w);
	else if (record->kind == CARRY_INCIDENT)
		write_incident(&record->incident, &w);
	else if (record->kind == CARRY_NOTE)
		write_note(&record->note, &w);
	else if (record->kind == CARRY_EVALUATION)
		carry_write_evaluation(&record->evaluation, &w);
	else if (record->kind == CARRY_TRACE)
		carry_write_trace(&record->trace, &w);
	else if (record->kind == CARRY_ATTACHMENT)
		carry_write_attachment(&record->attachment, &w);
	else if (record->kind == CARRY_PART)
		carry_write_part(&record->part, &w);
	else
		write_end(&record->end, &w);
	json_object_end(&w);
	buf_append_char(out, '\n');
}
