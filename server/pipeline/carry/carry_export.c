/* One job as records, page after page: what is behind in one call is found again by its number in the next. */
#include "base/log.h"
#include "model/incident.h"
#include "pipeline/carry/carry.h"
#include "pipeline/carry/carry_snapshot.h"
#include "pipeline/carry/carry_unsaid.h"
#include "pipeline/goodput/goodput.h"
#include "read/logs/lines.h"
#include "state/jobs/default_definitions.h"
#include "state/jobs/history.h"
#include "state/streams/directory.h"
#include "state/pipeline_state.h"
#include "store/hosts_by_hand.h"
#include "store/alerts.h"
#include "store/definitions.h"
#include "store/evaluations.h"
#include "store/gpu_traces.h"
#include "store/job_facts.h"
#include "store/jobs.h"
#include "store/notes.h"
#include "store/pack/chunk.h"
#include "store/points.h"
#include "store/retention.h"
#include "store/transitions.h"

#include <stdlib.h>

enum {
	BATCH_BYTES = 256 << 10, /* of a reply */
	PAGE_BYTES = 1 << 20, /* of text that is read at once */
	RECORD_BYTES = 64 << 10, /* a record of lines ends with the line that reaches it */
	RECORD_ROWS = 1000,
	PAGE_LINES = 16 * RECORD_ROWS,
	PAGE_INCIDENTS = 1000,
	PAGE_NOTES = 100,
	PAGE_EVALUATIONS = 1000,
	PAGE_TRACES = 100,
};

enum export_phase {
	EXPORT_JOB,
	EXPORT_STREAM,
	EXPORT_LINES,
	EXPORT_POINTS,
	EXPORT_INCIDENTS,
	EXPORT_NOTES,
	EXPORT_EVALUATIONS,
	EXPORT_TRACES,
	EXPORT_ATTACHMENTS,
	EXPORT_END,
	EXPORT_DONE
};

struct carry_export {
	struct pipeline *pipeline;
	struct arena *arena; /* of the job */
	struct job_row row;
	enum export_phase phase;
	struct arena *stream_arena;
	struct carry_snapshot stream;
	uint64_t next_line;
	size_t series; /* which of the stream's */
	uint64_t next_point;
	uint32_t lives; /* how often it had gone on after an end */
	struct carry_unsaid unsaid; /* of its streams */
	char *cursor; /* of incidents; NULL: from the newest */
	int64_t last_note; /* 0: none yet */
	struct arena *last_arena; /* of last_evaluation; NULL: none yet */
	struct evaluation_score last_evaluation;
	struct arena *trace_arena; /* of last_trace; NULL: none yet */
	struct gpu_trace_row last_trace;
	struct arena *file_arena; /* of file; NULL: none yet */
	struct attachment_row file;
	uint64_t file_part, file_sent;
	struct zstd *zstd;
	struct carry_counts counts;
};

void carry_export_free(struct carry_export *export)
{
	if (!export)
		return;
	arena_free(export->arena);
	arena_free(export->stream_arena);
	arena_free(export->last_arena);
	arena_free(export->trace_arena);
	arena_free(export->file_arena);
	carry_unsaid_done(&export->unsaid);
	mem_free(export->cursor);
	zstd_free(export->zstd);
	mem_free(export);
}

enum status carry_export_new(struct carry_export **out, struct pipeline *pipeline, struct store_reader *reader,
	struct span job, struct error *err)
{
	AUTO(carry_export) export = mem_zeroed(sizeof *export);

	if (!export)
		return error_no_memory(err);
	export->pipeline = pipeline;
	export->arena = arena_new();
	export->zstd = zstd_new();
	if (!export->arena || !export->zstd)
		return error_no_memory(err);
	TRY(store_read_job(reader, export->arena, job, &export->row, err));
	*out = TAKE(export);
	return OK;
}

/* ---- the job ---- */

static int by_key(const void *a, const void *b)
{
	return span_compare(((const struct setting_row *)a)->key, ((const struct setting_row *)b)->key);
}

static bool is_known(const struct setting_row *rows, size_t count, struct span key)
{
	for (size_t i = 0; i < count; i++)
		if (span_equal(rows[i].key, key))
			return true;
	return false;
}

/* What lines said that is not in the store yet. */
static enum status add_unwritten(
	struct job_state *job, struct arena *arena, struct carry_job *record, struct error *err)
{
	struct setting_row *rows;
	size_t count, end;

	TRY(job_settings_unwritten(job->settings, arena, &rows, &count, &end, err));
	struct setting_row *all = arena_alloc(arena, (record->setting_count + count) * sizeof *all);
	if (!all)
		return error_no_memory(err);
	size_t used = record->setting_count;
	if (used)
		memcpy(all, record->settings, used * sizeof *all);
	for (size_t i = 0; i < count; i++) {
		struct stream_state *stream = job_find_stream_id(job, rows[i].stream_id);
		if (!stream || is_known(all, used, rows[i].key))
			continue;
		all[used] = rows[i];
		all[used++].stream = span_from(stream->name); /* lives with the job, which the caller holds */
	}
	qsort(all, used, sizeof *all, by_key);
	record->settings = all;
	record->setting_count = used;
	return OK;
}

/* A record that is no JSON would take all of the job with it. */
static enum status drop_damaged(struct carry_job *job, struct error *err)
{
	AUTO(json) definitions = NULL;
	struct error why;
	enum status status = definitions_parse(&definitions, job->definitions, &why);

	if (status == ERR_MEMORY)
		return error_no_memory(err);
	if (status == OK)
		return OK;
	log_line(LOG_WARNING, "definitions_damaged", "job=\"%.*s\" error=\"%s\" export=\"without them\"",
		SPAN_ARGS(job->row.name), why.text);
	job->definitions = SPAN("");
	return OK;
}

static enum status read_job(struct carry_export *export, struct store_reader *reader, struct arena *arena,
	struct carry_job *job, struct error *err)
{
	TRY(store_read_job(reader, arena, export->row.name, &job->row, err));
	export->row.job_id = job->row.job_id;
	TRY(goodput_name_currency(reader, arena, &job->row.document, err));
	TRY(store_read_definitions(reader, arena, job->row.job_id, job->row.generation, &job->definitions, err));
	TRY(drop_damaged(job, err));
	TRY(store_read_transitions(reader, arena, job->row.job_id, &job->transitions, &job->transition_count, err));
	TRY(store_read_told_facts(reader, arena, job->row.job_id, &job->told, &job->told_count, err));
	TRY(store_read_event_times(reader, job->row.job_id, &job->event_times, err));
	job->has_told = true;
	TRY(store_read_settings(reader, arena, job->row.job_id, &job->settings, &job->setting_count, err));
	TRY(store_read_status_messages(reader, arena, job->row.job_id, &job->messages, &job->message_count, err));
	TRY(store_read_job_retention(reader, job->row.job_id, &job->retention, err));
	return store_read_newest_event(reader, job->row.job_id, &job->newest_event_ms, err);
}

static enum status write_job(
	struct carry_export *export, struct store_reader *reader, struct buf *out, struct error *err)
{
	AUTO(arena) arena = arena_new();
	struct carry_record record = {.kind = CARRY_JOB};

	if (!arena)
		return error_no_memory(err);
	TRY(store_reader_begin(reader, err));
	enum status status = read_job(export, reader, arena, &record.job, err);
	store_reader_end(reader);
	TRY(status);
	bool is_over;
	export->lives = history_count_lives(record.job.transitions, record.job.transition_count, &is_over);
	struct job_state *live = directory_find(export->pipeline->directory, export->row.name);
	if (live && live->job_id == export->row.job_id)
		status = add_unwritten(live, arena, &record.job, err);
	if (status == OK)
		carry_write(&record, out);
	job_unref(live);
	export->phase = EXPORT_STREAM;
	return status;
}

/* ---- a stream ---- */

static enum status read_session(struct carry_export *export, struct store_reader *reader, struct arena *arena,
	struct carry_stream *stream, struct error *err)
{
	struct held_row *held;
	size_t count;

	TRY(store_read_held(reader, arena, export->row.job_id, &held, &count, err));
	for (size_t i = 0; i < count; i++)
		if (held[i].stream_id == stream->row.stream_id) {
			stream->session_ms = held[i].opened_ms;
			stream->has_session = true;
		}
	return OK;
}

static enum status read_exit(struct carry_export *export, struct store_reader *reader, struct arena *arena,
	struct carry_stream *stream, struct error *err)
{
	struct exit_row *exits;
	size_t count;

	TRY(store_read_exits(reader, arena, export->row.job_id, &exits, &count, err));
	for (size_t i = 0; i < count; i++)
		if (exits[i].stream_id == stream->row.stream_id) {
			stream->exit = exits[i];
			stream->has_exit = true;
		}
	return OK;
}

/* As they were told: what was set by hand is in the document. */
static enum status read_hosts(struct carry_export *export, struct store_reader *reader, struct arena *arena,
	struct carry_stream *stream, struct error *err)
{
	int64_t job_id = export->row.job_id;
	uint32_t stream_id = stream->row.stream_id;
	bool is_by_hand;

	TRY(store_has_host_by_hand(reader, job_id, stream_id, &is_by_hand, err));
	if (!is_by_hand)
		return store_read_stream_hosts(
			reader, arena, job_id, stream_id, &stream->hosts, &stream->host_count, err);
	TRY(store_read_told_hosts(reader, arena, job_id, stream_id, &stream->hosts, &stream->host_count, err));
	const struct stream_host_row *last = stream->host_count ? &stream->hosts[stream->host_count - 1] : NULL;
	stream->row.host = last && !last->is_shared ? last->host : SPAN("");
	return OK;
}

static enum status read_rest(struct carry_export *export, struct store_reader *reader, struct arena *arena,
	struct carry_stream *stream, struct error *err)
{
	struct expired_text *expired;
	size_t count;

	TRY(store_read_expired(reader, arena, export->row.job_id, stream->row.stream_id, &expired, &count, err));
	if (count)
		stream->expired = expired[0];
	TRY(read_hosts(export, reader, arena, stream, err));
	TRY(store_read_sources(reader, arena, export->row.job_id, stream->row.stream_id, &stream->sources,
		&stream->source_count, err));
	TRY(store_read_stream_hits(
		reader, arena, export->row.job_id, stream->row.stream_id, &stream->hits, &stream->hit_count, err));
	TRY(store_read_stream_checkpoints(reader, arena, export->row.job_id, stream->row.stream_id,
		&stream->checkpoints, &stream->checkpoint_count, err));
	TRY(read_session(export, reader, arena, stream, err));
	return read_exit(export, reader, arena, stream, err);
}

static enum status write_stream(
	struct carry_export *export, struct store_reader *reader, struct buf *out, struct error *err)
{
	struct carry_record record = {.kind = CARRY_STREAM};
	uint32_t after = export->stream.row.stream_id;

	arena_free(export->stream_arena);
	export->stream_arena = arena_new();
	if (!export->stream_arena)
		return error_no_memory(err);
	TRY(carry_snapshot_after(
		export->pipeline, reader, export->stream_arena, &export->row, after, &export->stream, err));
	if (!export->stream.row.stream_id) {
		export->phase = EXPORT_INCIDENTS;
		return carry_unsaid_number(&export->unsaid, reader, export->row.job_id, export->lives, err);
	}
	TRY(carry_unsaid_add(&export->unsaid, export->arena, export->stream.unsaid, export->stream.unsaid_count, err));
	record.stream.row = export->stream.row;
	TRY(read_rest(export, reader, export->stream_arena, &record.stream, err));
	carry_write(&record, out);
	export->counts.streams++;
	export->next_line = record.stream.expired.first_kept_line;
	export->series = 0;
	export->next_point = 0;
	export->phase = EXPORT_LINES;
	return OK;
}

/* ---- lines ---- */

/* How many lines from the front make a record. False: where it ends is behind what was read. */
static bool cut_record(const struct line_view *lines, size_t count, bool is_end, size_t *used)
{
	size_t bytes = 0;

	for (*used = 0; *used < count;) {
		bytes += lines[(*used)++].text.len;
		if (bytes >= RECORD_BYTES || *used == RECORD_ROWS)
			return true;
	}
	return is_end && count;
}

static enum status write_line_record(struct carry_export *export, const struct line_view *views, size_t count,
	struct arena *arena, struct buf *out, struct error *err)
{
	struct carry_record record = {.kind = CARRY_LINES,
		.lines = {.stream = export->stream.row.name, .first = views[0].number, .count = count}};

	record.lines.lines = arena_alloc(arena, count * sizeof *record.lines.lines);
	if (!record.lines.lines)
		return error_no_memory(err);
	for (size_t i = 0; i < count; i++)
		record.lines.lines[i] =
			(struct line){.text = views[i].text, .ts_ms = views[i].ts_ms, .flags = views[i].flags};
	carry_write(&record, out);
	export->next_line += count;
	export->counts.lines += count;
	return OK;
}

static enum status write_page(struct carry_export *export, struct arena *arena, const struct line_view *lines,
	size_t count, struct buf *out, struct error *err)
{
	uint64_t left = export->stream.row.sealed_lines - export->next_line;
	size_t used;

	count = count > left ? (size_t)left : count; /* lines that came since are not in the snapshot */
	for (size_t at = 0; cut_record(lines + at, count - at, count == left, &used); at += used)
		TRY(write_line_record(export, lines + at, used, arena, out, err));
	return OK;
}

static enum status write_lines(
	struct carry_export *export, struct store_reader *reader, struct buf *out, struct error *err)
{
	AUTO(arena) arena = arena_new();
	struct line_view *lines;
	uint64_t total, before = export->next_line;
	size_t count;

	if (!arena)
		return error_no_memory(err);
	if (export->next_line >= export->stream.row.sealed_lines) {
		export->phase = EXPORT_POINTS;
		return OK;
	}
	TRY(lines_read(export->pipeline, reader, arena, export->row.name, export->stream.row.name, export->next_line,
		PAGE_LINES, PAGE_BYTES, &lines, &count, &total, err));
	TRY(write_page(export, arena, lines, count, out, err));
	return export->next_line > before
		       ? OK
		       : error_set(err, ERR_GONE, "line %llu of stream '%.*s' was deleted while it was exported",
				 (unsigned long long)before, SPAN_ARGS(export->stream.row.name));
}

/* ---- points ---- */

static enum status read_chunk(struct carry_export *export, struct store_reader *reader,
	const struct carry_series *series, uint64_t ordinal, struct point *out, size_t *count, struct error *err)
{
	AUTO(arena) arena = arena_new();
	struct point points[CHUNK_MAX_POINTS];
	struct chunk_row chunk;
	struct error cause;
	size_t found;

	if (!arena)
		return error_no_memory(err);
	TRY(store_read_chunk(reader, arena, export->row.job_id, series->series_id, ordinal, &chunk, err));
	if (!chunk.point_count || chunk.first_ordinal > ordinal)
		return error_set(err, ERR_CONFLICT, "the metrics of job '%.*s' were replaced while it was exported",
			SPAN_ARGS(export->row.name));
	if (chunk_unpack(chunk.data, export->zstd, points, &found, &cause) != OK ||
		found <= ordinal - chunk.first_ordinal)
		return error_set(err, ERR_IO, "the chunk at point %llu of '%.*s' is damaged",
			(unsigned long long)ordinal, SPAN_ARGS(series->metric));
	size_t skipped = (size_t)(ordinal - chunk.first_ordinal), some = found - skipped;
	some = some > RECORD_ROWS - *count ? RECORD_ROWS - *count : some;
	if (some > series->sealed_points - ordinal)
		some = (size_t)(series->sealed_points - ordinal);
	memcpy(out + *count, points + skipped, some * sizeof *points);
	*count += some;
	return OK;
}

static enum status write_some_points(struct carry_export *export, struct store_reader *reader,
	const struct carry_series *series, struct buf *out, struct error *err)
{
	struct point points[RECORD_ROWS];
	struct carry_record record = {.kind = CARRY_POINTS,
		.points = {.stream = export->stream.row.name,
			.metric = series->metric,
			.first = export->next_point,
			.points = points}};
	size_t *count = &record.points.count;

	while (*count < RECORD_ROWS && export->next_point + *count < series->sealed_points)
		TRY(read_chunk(export, reader, series, export->next_point + *count, points, count, err));
	for (; *count < RECORD_ROWS && export->next_point + *count < series->points; ++*count)
		points[*count] = series->tail[export->next_point + *count - series->sealed_points];
	carry_write(&record, out);
	export->next_point += *count;
	export->counts.points += *count;
	return OK;
}

static enum status write_points(
	struct carry_export *export, struct store_reader *reader, struct buf *out, struct error *err)
{
	if (export->series == export->stream.series_count) {
		export->phase = EXPORT_STREAM;
		return OK;
	}
	const struct carry_series *series = &export->stream.series[export->series];
	if (export->next_point < series->points)
		return write_some_points(export, reader, series, out, err);
	export->series++;
	export->next_point = 0;
	return OK;
}

/* ---- incidents, notes, evaluations, traces and the end ---- */

static void write_incident(struct carry_export *export, const struct incident_row *row, struct buf *out)
{
	carry_write(&(struct carry_record){.kind = CARRY_INCIDENT, .incident = *row}, out);
	export->counts.incidents++;
}

/* row NULL: all that are left. */
static void write_unsaid(struct carry_export *export, const struct incident_row *row, struct buf *out)
{
	for (const struct incident_row *unsaid; (unsaid = carry_unsaid_next(&export->unsaid, row));)
		write_incident(export, unsaid, out);
}

static enum status write_incidents(
	struct carry_export *export, struct store_reader *reader, struct buf *out, struct error *err)
{
	AUTO(arena) arena = arena_new();
	struct incident_filter filter = {.has_all = true,
		.job_id = export->row.job_id,
		.state = -1,
		.kind = -1,
		.cursor = span_from(export->cursor),
		.limit = PAGE_INCIDENTS};
	struct incident_row *rows;
	struct span next;
	size_t count;

	if (!arena)
		return error_no_memory(err);
	TRY(store_read_incidents(reader, arena, &filter, &rows, &count, &next, err));
	carry_unsaid_join(&export->unsaid, rows, count);
	for (size_t i = 0; i < count; i++) {
		write_unsaid(export, &rows[i], out);
		write_incident(export, &rows[i], out);
	}
	if (!next.len)
		write_unsaid(export, NULL, out);
	mem_free(export->cursor);
	export->cursor = next.len ? mem_copy_bytes(next.ptr, next.len) : NULL;
	if (next.len && !export->cursor)
		return error_no_memory(err);
	export->phase = next.len ? EXPORT_INCIDENTS : EXPORT_NOTES;
	return OK;
}

/* Those that are there: what was deleted can be taken back here alone. */
static enum status write_notes(
	struct carry_export *export, struct store_reader *reader, struct buf *out, struct error *err)
{
	AUTO(arena) arena = arena_new();
	struct note_row *rows;
	size_t count;

	if (!arena)
		return error_no_memory(err);
	TRY(store_read_notes(
		reader, arena, export->row.job_id, export->last_note, INT64_MAX, PAGE_NOTES, &rows, &count, err));
	for (size_t i = 0; i < count; i++) {
		carry_write(&(struct carry_record){.kind = CARRY_NOTE, .note = rows[i]}, out);
		export->last_note = rows[i].note_id;
	}
	export->counts.notes += count;
	export->phase = count < PAGE_NOTES ? EXPORT_EVALUATIONS : EXPORT_NOTES;
	return OK;
}

static enum status write_evaluations(
	struct carry_export *export, struct store_reader *reader, struct buf *out, struct error *err)
{
	AUTO(arena) arena = arena_new();
	struct evaluation_score *scores;
	size_t count;

	if (!arena)
		return error_no_memory(err);
	TRY(store_read_evaluations(reader, arena, export->row.job_id,
		export->last_arena ? &export->last_evaluation : NULL, PAGE_EVALUATIONS, &scores, &count, err));
	for (size_t i = 0; i < count; i++)
		carry_write(&(struct carry_record){.kind = CARRY_EVALUATION, .evaluation = scores[i]}, out);
	export->counts.evaluations += count;
	export->phase = count < PAGE_EVALUATIONS ? EXPORT_TRACES : EXPORT_EVALUATIONS;
	if (!count)
		return OK;
	arena_free(export->last_arena);
	export->last_arena = TAKE(arena);
	export->last_evaluation = scores[count - 1];
	return OK;
}

static enum status write_traces(
	struct carry_export *export, struct store_reader *reader, struct buf *out, struct error *err)
{
	AUTO(arena) arena = arena_new();
	struct gpu_trace_row *rows;
	size_t count;

	if (!arena)
		return error_no_memory(err);
	TRY(store_read_gpu_traces(reader, arena, export->row.job_id, export->trace_arena ? &export->last_trace : NULL,
		PAGE_TRACES, &rows, &count, err));
	for (size_t i = 0; i < count; i++)
		carry_write(&(struct carry_record){.kind = CARRY_TRACE, .trace = rows[i]}, out);
	export->counts.traces += count;
	export->phase = count < PAGE_TRACES ? EXPORT_ATTACHMENTS : EXPORT_TRACES;
	if (!count)
		return OK;
	arena_free(export->trace_arena);
	export->trace_arena = TAKE(arena);
	export->last_trace = rows[count - 1];
	return OK;
}

static enum status write_part(
	struct carry_export *export, struct store_reader *reader, struct buf *out, struct error *err)
{
	AUTO(arena) arena = arena_new();
	AUTO_DONE(buf) plain = BUF_INIT(ATTACHMENT_PART_BYTES);
	struct carry_record record = {.kind = CARRY_PART, .part = {.first = export->file_sent}};
	struct span packed;

	if (!arena)
		return error_no_memory(err);
	TRY(store_read_attachment_part(reader, arena, &export->file, export->file_part, &packed, err));
	TRY(zstd_unpack(export->zstd, packed, ATTACHMENT_PART_BYTES, &plain, err));
	record.part.data = buf_span(&plain);
	carry_write(&record, out);
	export->file_part++;
	export->file_sent += plain.len;
	return OK;
}

/* The next one by path, or the next part of this one. */
static enum status write_attachments(
	struct carry_export *export, struct store_reader *reader, struct buf *out, struct error *err)
{
	AUTO(arena) arena = NULL;
	struct attachment_row *rows;
	size_t count;

	if (export->file_sent < export->file.bytes)
		return write_part(export, reader, out, err);
	if (!(arena = arena_new()))
		return error_no_memory(err);
	TRY(store_read_attachments(reader, arena, export->row.job_id, export->file_arena ? export->file.path : SPAN(""),
		1, &rows, &count, err));
	if (!count) {
		export->phase = EXPORT_END;
		return OK;
	}
	arena_free(export->file_arena);
	export->file_arena = TAKE(arena);
	export->file = rows[0];
	export->file_part = 0;
	export->file_sent = 0;
	carry_write(&(struct carry_record){.kind = CARRY_ATTACHMENT, .attachment = rows[0]}, out);
	export->counts.attachments++;
	return OK;
}

static void write_end(struct carry_export *export, struct buf *out)
{
	carry_write(&(struct carry_record){.kind = CARRY_END, .end = {export->row.name, export->counts}}, out);
	export->phase = EXPORT_DONE;
}

static enum status step(struct carry_export *export, struct store_reader *reader, struct buf *out, struct error *err)
{
	switch (export->phase) {
	case EXPORT_JOB:
		return write_job(export, reader, out, err);
	case EXPORT_STREAM:
		return write_stream(export, reader, out, err);
	case EXPORT_LINES:
		return write_lines(export, reader, out, err);
	case EXPORT_POINTS:
		return write_points(export, reader, out, err);
	case EXPORT_INCIDENTS:
		return write_incidents(export, reader, out, err);
	case EXPORT_NOTES:
		return write_notes(export, reader, out, err);
	case EXPORT_EVALUATIONS:
		return write_evaluations(export, reader, out, err);
	case EXPORT_TRACES:
		return write_traces(export, reader, out, err);
	case EXPORT_ATTACHMENTS:
		return write_attachments(export, reader, out, err);
	case EXPORT_END:
		write_end(export, out);
		break;
	case EXPORT_DONE:
		break;
	}
	return OK;
}

enum status carry_export_more(
	struct carry_export *export, struct store_reader *reader, struct buf *out, bool *is_done, struct error *err)
{
	while (export->phase != EXPORT_DONE && out->len < BATCH_BYTES)
		TRY(step(export, reader, out, err));
	*is_done = export->phase == EXPORT_DONE;
	return buf_status(out, err);
}
