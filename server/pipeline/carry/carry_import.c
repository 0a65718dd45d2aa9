/* Records of whole jobs to rows: lines are packed into blocks and points into chunks here, on the thread that has the bytes. */
#include "model/incident.h"
#include "pipeline/carry/carry_batch.h"
#include "state/streams/directory.h"
#include "state/streams/job_view.h"
#include "state/pipeline_state.h"
#include "state/jobs/secrets.h"
#include "state/streams/stream_head.h"
#include "state/streams/stream_pack.h"
#include "store/alerts.h"
#include "store/blocks.h"
#include "store/job_facts.h"
#include "store/pack/chunk.h"
#include "store/pack/log_filter.h"
#include "store/points.h"
#include "store/streams.h"

enum {
	BATCH_BYTES = 1 << 20, /* of rows in one transaction */
	BATCH_JOBS = 4, /* each has dozens of rows in the search index, and others wait for the writer meanwhile */
	SKIPPED_NAMES_BYTES = 64 << 10,
	SKIPPED_NAMES_ROOM = 8 << 10, /* the longest name, escaped */
};

struct carry_import {
	struct pipeline *pipeline;
	char *team;
	struct carry_batch *batch; /* what waits to be pushed; NULL: nothing */
	bool has_failed; /* a batch could not be written: none of the later ones may be */
	struct zstd *zstd;
	/* the job that is being read */
	struct carried *job; /* NULL: between jobs */
	struct job_state *shell; /* of it, for what needs one */
	struct carry_counts counts;
	bool has_incidents; /* no stream may follow */
	/* its stream */
	struct arena *stream_arena; /* NULL: there is none yet */
	struct carry_stream stream;
	struct stream_view view;
	uint64_t *points; /* of each series of the view, so far */
	uint64_t next_line;
	/* lines for the next block */
	struct arena *text;
	struct line *lines;
	size_t line_count, line_cap, line_bytes;
	/* points for the next chunk */
	struct point chunk[CHUNK_MAX_POINTS];
	size_t chunk_count;
	size_t chunk_series;
	/* done */
	struct carry_result result;
	struct buf skipped;
	void (*done)(void *context, enum status status, const struct error *err);
	void *done_context;
};

static void forget_stream(struct carry_import *import)
{
	arena_free(import->stream_arena);
	import->stream_arena = NULL;
	import->points = NULL;
	import->line_count = import->line_bytes = 0;
	import->chunk_count = 0;
}

static void forget_job(struct carry_import *import)
{
	forget_stream(import);
	job_unref(import->shell);
	import->shell = NULL;
	import->job = NULL;
	import->counts = (struct carry_counts){0};
	import->has_incidents = false;
}

/* Those that the batch would have ended. */
static void drop_jobs(const struct carry_import *import, const struct carry_batch *batch)
{
	for (const struct carry_op *op = batch->first; op; op = op->next)
		if (op->kind == OP_END)
			carried_drop(import->pipeline, op->job);
}

/* What is left when an import ends before its last job does: whole jobs are still written, the rest goes. */
static void drop_rest(struct carry_import *import)
{
	struct error err;

	if (import->batch && import->job)
		carry_batch_remove(import->batch, import->job);
	if (import->batch && import->has_failed)
		drop_jobs(import, import->batch);
	else if (carry_import_has_work(import) && carry_batch_push(import->batch, NULL, NULL, &err) == OK)
		import->batch = NULL;
	if (import->job)
		carried_drop(import->pipeline, import->job);
	carried_free(import->job);
	forget_job(import);
}

void carry_import_free(struct carry_import *import)
{
	if (!import)
		return;
	drop_rest(import);
	carry_batch_free(import->batch);
	arena_free(import->text);
	mem_free(import->lines);
	zstd_free(import->zstd);
	buf_done(&import->skipped);
	mem_free(import->team);
	mem_free(import);
}

enum status carry_import_new(struct carry_import **out, struct pipeline *pipeline, struct span team, struct error *err)
{
	AUTO(carry_import) import = mem_zeroed(sizeof *import);

	if (!import)
		return error_no_memory(err);
	import->pipeline = pipeline;
	import->skipped = BUF_INIT(SKIPPED_NAMES_BYTES);
	import->team = mem_copy_bytes(team.ptr ? team.ptr : "", team.len);
	import->zstd = zstd_new();
	if (!import->team || !import->zstd)
		return error_no_memory(err);
	*out = TAKE(import);
	return OK;
}

static enum status add_op(
	struct carry_import *import, enum carry_op_kind kind, struct carry_op **out, struct error *err)
{
	if (!import->batch)
		import->batch = carry_batch_new(import->pipeline);
	*out = import->batch ? carry_batch_add(import->batch, kind, import->job) : NULL;
	return *out ? OK : error_no_memory(err);
}

static bool copy(struct arena *arena, struct span *span)
{
	*span = arena_copy(arena, *span);
	return span->ptr != NULL;
}

/* ---- job ---- */

/* It is kept as it was, whatever its server made of it; secrets are none of a file's business. */
static enum status make_document(struct carried *job, struct error *err)
{
	AUTO(json) document = NULL;
	AUTO_DONE(buf) text = BUF_INIT(SIZE_MAX / 2);

	TRY(json_parse(&document, job->job.row.document, err));
	TRY(secrets_mask(document, err));
	json_print(document, &text);
	TRY(buf_status(&text, err));
	job->job.row.document = arena_copy(job->arena, buf_span(&text));
	return job->job.row.document.ptr ? OK : error_no_memory(err);
}

static enum status check_definitions(const struct pipeline *pipeline, const struct carry_job *job, struct error *err)
{
	AUTO(json) json = NULL;
	AUTO(definition_set) set = NULL;

	if (!job->definitions.len)
		return OK;
	TRY(json_parse(&json, job->definitions, err));
	return definition_set_new(&set, json, pipeline->presets, err);
}

/* The record was read into the job's own arena. */
static enum status take_job(
	struct carry_import *import, struct carried *job, const struct carry_record *record, struct error *err)
{
	struct carry_op *op;

	job->job = record->job;
	if (import->team[0])
		job->job.row.team = arena_copy(job->arena, span_from(import->team));
	if (!job->job.row.team.ptr)
		return error_no_memory(err);
	TRY(make_document(job, err));
	TRY(check_definitions(import->pipeline, &job->job, err));
	job->streams = map_new();
	import->shell = job_state_new(&job->job.row);
	import->job = job;
	enum status status = job->streams && import->shell ? add_op(import, OP_BEGIN, &op, err) : error_no_memory(err);
	if (status != OK)
		forget_job(import); /* the caller frees it */
	return status;
}

/* ---- stream ---- */

static bool is_text(struct span text)
{
	return span_is_utf8(text) && span_find_char(text, 0) < 0;
}

static enum status check_series(const struct series_view *series, uint32_t stream_id, struct error *err)
{
	if (series->series_id >> SERIES_BITS != stream_id)
		return error_set_field(err, ERR_SEMANTIC, "state",
			"'state' is of stream %u of its job, and this is stream %u: streams come in their order",
			(unsigned)(series->series_id >> SERIES_BITS), (unsigned)stream_id);
	return is_text(series->metric) && is_text(series->unit)
		       ? OK
		       : error_set_field(err, ERR_SEMANTIC, "state", "'state' names a metric that is no text");
}

/* The state must be one that the server can go on from, and of this stream. */
static enum status check_state(struct carry_import *import, uint32_t stream_id, struct error *err)
{
	struct stream_state *stream =
		stream_state_new(import->shell, stream_id, import->stream.row.name, import->stream.row.host);
	struct error cause;

	if (!stream)
		return error_no_memory(err);
	enum status status =
		import->stream.row.state.len ? stream_unpack(stream, import->stream.row.state, &cause) : OK;
	stream_state_free(stream);
	if (status == ERR_MEMORY)
		return error_no_memory(err);
	if (status != OK)
		return error_set_field(
			err, ERR_SEMANTIC, "state", "'state' is not one that this server reads: %s", cause.text);
	TRY(stream_unpack_view(import->stream.row.state, import->stream_arena, &import->view, err));
	for (size_t i = 0; i < import->view.series_count; i++)
		TRY(check_series(&import->view.series[i], stream_id, err));
	return OK;
}

static enum status name_stream(struct carry_import *import, struct error *err)
{
	size_t number = ++import->counts.streams;
	struct span name = import->stream.row.name;

	if (map_get(import->job->streams, name))
		return error_set_field(
			err, ERR_SEMANTIC, "name", "the job has a stream '%.*s' already", SPAN_ARGS(name));
	if (number > import->pipeline->options.max_streams_a_job)
		return error_set_field(err, ERR_TOO_LARGE, "name", "the job has more than %zu streams (--max-streams)",
			import->pipeline->options.max_streams_a_job);
	return map_put(import->job->streams, name, (void *)(uintptr_t)number) ? OK : error_no_memory(err);
}

static bool copy_sources(struct arena *arena, struct carry_stream *stream)
{
	struct source_row *rows = arena_alloc(arena, stream->source_count * sizeof *rows + 1);

	for (size_t i = 0; rows && i < stream->source_count; i++) {
		rows[i] = stream->sources[i];
		if (!copy(arena, &rows[i].source))
			return false;
	}
	stream->sources = rows;
	return rows != NULL;
}

static bool copy_hosts(struct arena *arena, struct carry_stream *stream)
{
	struct stream_host_row *rows = arena_alloc(arena, stream->host_count * sizeof *rows + 1);

	for (size_t i = 0; rows && i < stream->host_count; i++) {
		rows[i] = stream->hosts[i];
		if (!copy(arena, &rows[i].host))
			return false;
	}
	stream->hosts = rows;
	return rows != NULL;
}

static bool copy_hits(struct arena *arena, struct carry_stream *stream)
{
	struct signature_hit_row *rows = arena_alloc(arena, stream->hit_count * sizeof *rows + 1);

	for (size_t i = 0; rows && i < stream->hit_count; i++) {
		rows[i] = stream->hits[i];
		if (!copy(arena, &rows[i].signature) || !copy(arena, &rows[i].text))
			return false;
	}
	stream->hits = rows;
	return rows != NULL;
}

static bool copy_checkpoints(struct arena *arena, struct carry_stream *stream)
{
	struct checkpoint_row *rows = arena_alloc(arena, stream->checkpoint_count * sizeof *rows + 1);

	if (rows && stream->checkpoint_count)
		memcpy(rows, stream->checkpoints, stream->checkpoint_count * sizeof *rows);
	stream->checkpoints = rows;
	return rows != NULL;
}

static enum status add_stream(struct carry_import *import, struct error *err)
{
	struct carry_op *op;

	TRY(add_op(import, OP_STREAM, &op, err));
	struct arena *arena = import->batch->arena;
	op->stream = import->stream;
	bool is_whole = copy(arena, &op->stream.row.name) && copy(arena, &op->stream.row.host) &&
			copy(arena, &op->stream.row.state) && copy(arena, &op->stream.expired.reason) &&
			copy(arena, &op->stream.exit.reason) && copy_hosts(arena, &op->stream) &&
			copy_sources(arena, &op->stream) && copy_hits(arena, &op->stream) &&
			copy_checkpoints(arena, &op->stream);
	return is_whole ? OK : error_no_memory(err);
}

static enum status take_stream(
	struct carry_import *import, struct arena *arena, const struct carry_record *record, struct error *err)
{
	import->stream = record->stream;
	import->view = (struct stream_view){0};
	import->stream_arena = arena;
	import->next_line = record->stream.expired.first_kept_line;
	if (import->next_line > record->stream.row.sealed_lines)
		return error_set_field(err, ERR_SEMANTIC, "expired.first_kept_line",
			"line %llu is kept, and the stream has %llu", (unsigned long long)import->next_line,
			(unsigned long long)record->stream.row.sealed_lines);
	TRY(name_stream(import, err));
	TRY(check_state(import, (uint32_t)import->counts.streams, err));
	import->points = arena_alloc(arena, import->view.series_count * sizeof *import->points + 1);
	if (!import->points)
		return error_no_memory(err);
	memset(import->points, 0, import->view.series_count * sizeof *import->points);
	return add_stream(import, err);
}

/* ---- lines ---- */

static enum status pack_block(struct carry_import *import, struct block_row *row, struct error *err)
{
	AUTO_DONE(buf) content = BUF_INIT(SIZE_MAX / 2);
	AUTO_DONE(buf) packed = BUF_INIT(SIZE_MAX / 2);
	AUTO_DONE(buf) filter = BUF_INIT(SIZE_MAX / 2);
	struct arena *arena = import->batch->arena;

	TRY(block_lay_out(import->lines, import->line_count, &content, err));
	TRY(block_compress(buf_span(&content), import->zstd, &packed, err));
	TRY(log_filter_pack(block_text(buf_span(&content)), &filter, err));
	row->data = arena_copy(arena, buf_span(&packed));
	row->filter = arena_copy(arena, buf_span(&filter));
	return row->data.ptr && row->filter.ptr ? OK : error_no_memory(err);
}

static enum status flush_lines(struct carry_import *import, struct error *err)
{
	struct carry_op *op;

	if (!import->line_count)
		return OK;
	TRY(add_op(import, OP_BLOCK, &op, err));
	op->block = (struct block_row){.stream_id = (uint32_t)import->counts.streams,
		.first_line = import->next_line - import->line_count,
		.line_count = import->line_count,
		.raw_bytes = import->line_bytes,
		.first_ms = import->lines[0].ts_ms,
		.last_ms = import->lines[0].ts_ms};
	for (size_t i = 1; i < import->line_count; i++) {
		int64_t ts_ms = import->lines[i].ts_ms;
		op->block.first_ms = ts_ms < op->block.first_ms ? ts_ms : op->block.first_ms;
		op->block.last_ms = ts_ms > op->block.last_ms ? ts_ms : op->block.last_ms;
	}
	TRY(pack_block(import, &op->block, err));
	import->line_count = import->line_bytes = 0;
	arena_free(import->text);
	import->text = NULL;
	return OK;
}

static enum status take_line(struct carry_import *import, const struct line *line, struct error *err)
{
	size_t more = line->text.len + 1;

	if (import->line_bytes + more > BLOCK_MAX_BYTES)
		TRY(flush_lines(import, err));
	if (!import->text)
		import->text = arena_new();
	if (!import->text ||
		!mem_grow((void **)&import->lines, import->line_count, &import->line_cap, sizeof *import->lines))
		return error_no_memory(err);
	struct line kept = *line;
	if (!copy(import->text, &kept.text))
		return error_no_memory(err);
	import->lines[import->line_count++] = kept;
	import->line_bytes += more;
	import->next_line++;
	import->counts.lines++;
	return OK;
}

static enum status want_stream(const struct carry_import *import, struct span name, struct error *err)
{
	if (import->stream_arena && span_equal(name, import->stream.row.name))
		return OK;
	return error_set_field(err, ERR_SEMANTIC, "stream",
		"lines and points follow the record of their stream, and '%.*s' is not the one before",
		SPAN_ARGS(name));
}

static enum status take_lines(struct carry_import *import, const struct carry_lines *lines, struct error *err)
{
	TRY(want_stream(import, lines->stream, err));
	if (lines->first != import->next_line)
		return error_set_field(err, ERR_SEMANTIC, "first", "line %llu of stream '%.*s' is next, not %llu",
			(unsigned long long)import->next_line, SPAN_ARGS(lines->stream),
			(unsigned long long)lines->first);
	if (lines->count > import->stream.row.sealed_lines - import->next_line)
		return error_set_field(err, ERR_SEMANTIC, "text", "stream '%.*s' has %llu lines, and these are more",
			SPAN_ARGS(lines->stream), (unsigned long long)import->stream.row.sealed_lines);
	for (size_t i = 0; i < lines->count; i++)
		TRY(take_line(import, &lines->lines[i], err));
	return OK;
}

/* ---- points ---- */

static void note_range(struct chunk_row *row, const struct point *point)
{
	row->first_step = point->step < row->first_step ? point->step : row->first_step;
	row->last_step = point->step > row->last_step ? point->step : row->last_step;
	row->first_ms = point->ts_ms < row->first_ms ? point->ts_ms : row->first_ms;
	row->last_ms = point->ts_ms > row->last_ms ? point->ts_ms : row->last_ms;
}

static enum status flush_points(struct carry_import *import, struct error *err)
{
	AUTO_DONE(buf) packed = BUF_INIT(SIZE_MAX / 2);
	const struct point *points = import->chunk;
	struct carry_op *op;

	if (!import->chunk_count)
		return OK;
	TRY(chunk_pack(points, import->chunk_count, import->zstd, &packed, err));
	TRY(add_op(import, OP_CHUNK, &op, err));
	op->chunk = (struct chunk_row){.series_id = import->view.series[import->chunk_series].series_id,
		.first_ordinal = import->points[import->chunk_series] - import->chunk_count,
		.point_count = import->chunk_count,
		.first_step = points[0].step,
		.last_step = points[0].step,
		.first_ms = points[0].ts_ms,
		.last_ms = points[0].ts_ms,
		.data = arena_copy(import->batch->arena, buf_span(&packed))};
	if (!op->chunk.data.ptr)
		return error_no_memory(err);
	for (size_t i = 1; i < import->chunk_count; i++)
		note_range(&op->chunk, &points[i]);
	import->chunk_count = 0;
	return OK;
}

static enum status find_series(
	const struct carry_import *import, const struct carry_points *points, size_t *out, struct error *err)
{
	for (size_t i = 0; i < import->view.series_count; i++) {
		if (!span_equal(import->view.series[i].metric, points->metric))
			continue;
		*out = i;
		uint64_t all = import->view.series[i].sealed_points, have = import->points[i];
		if (points->first != have)
			return error_set_field(err, ERR_SEMANTIC, "first", "point %llu of '%.*s' is next, not %llu",
				(unsigned long long)have, SPAN_ARGS(points->metric), (unsigned long long)points->first);
		if (points->count > all - have)
			return error_set_field(err, ERR_SEMANTIC, "value", "'%.*s' has %llu points, and these are more",
				SPAN_ARGS(points->metric), (unsigned long long)all);
		return OK;
	}
	return error_set_field(err, ERR_SEMANTIC, "metric", "stream '%.*s' has no metric '%.*s' in its state",
		SPAN_ARGS(points->stream), SPAN_ARGS(points->metric));
}

static enum status take_points(struct carry_import *import, const struct carry_points *points, struct error *err)
{
	size_t series;

	TRY(want_stream(import, points->stream, err));
	TRY(find_series(import, points, &series, err));
	if (series != import->chunk_series)
		TRY(flush_points(import, err));
	import->chunk_series = series;
	for (size_t i = 0; i < points->count; i++) {
		if (import->chunk_count == CHUNK_MAX_POINTS)
			TRY(flush_points(import, err));
		import->chunk[import->chunk_count++] = points->points[i];
		import->points[series]++;
		import->counts.points++;
	}
	return OK;
}

/* ---- the end of a stream ---- */

static enum status add_series(struct carry_import *import, size_t at, struct error *err)
{
	const struct series_view *view = &import->view.series[at];
	struct carry_op *op;

	if (import->points[at] != view->sealed_points)
		return error_set_field(err, ERR_SEMANTIC, "value",
			"of the %llu points of '%.*s' of stream '%.*s' %llu came",
			(unsigned long long)view->sealed_points, SPAN_ARGS(view->metric),
			SPAN_ARGS(import->stream.row.name), (unsigned long long)import->points[at]);
	TRY(add_op(import, OP_SERIES, &op, err));
	op->series = (struct series_row){.series_id = view->series_id,
		.stream_id = (uint32_t)import->counts.streams,
		.metric = view->metric,
		.labels = SPAN(""),
		.unit = view->unit,
		.role = view->role,
		.sealed_points = view->sealed_points,
		.sealed = view->summary};
	struct arena *arena = import->batch->arena;
	return copy(arena, &op->series.metric) && copy(arena, &op->series.unit) ? OK : error_no_memory(err);
}

static enum status finish_stream(struct carry_import *import, struct error *err)
{
	if (!import->stream_arena)
		return OK;
	if (import->next_line != import->stream.row.sealed_lines)
		return error_set_field(err, ERR_SEMANTIC, "lines", "of the %llu lines of stream '%.*s' %llu came",
			(unsigned long long)import->stream.row.sealed_lines, SPAN_ARGS(import->stream.row.name),
			(unsigned long long)import->next_line);
	TRY(flush_lines(import, err));
	TRY(flush_points(import, err));
	for (size_t i = 0; i < import->view.series_count; i++)
		TRY(add_series(import, i, err));
	forget_stream(import);
	return OK;
}

/* ---- incidents and the end ---- */

static enum status take_incident(struct carry_import *import, const struct incident_row *row, struct error *err)
{
	struct carry_op *op;

	TRY(finish_stream(import, err));
	TRY(add_op(import, OP_INCIDENT, &op, err));
	op->incident = *row;
	if (!copy(import->batch->arena, &op->incident.facts) || !copy(import->batch->arena, &op->incident.metric))
		return error_no_memory(err);
	import->has_incidents = true;
	import->counts.incidents++;
	return OK;
}

static enum status number_settings(struct carried *job, struct error *err)
{
	for (size_t i = 0; i < job->job.setting_count; i++) {
		struct setting_row *row = &job->job.settings[i];
		row->stream_id = (uint32_t)(uintptr_t)map_get(job->streams, row->stream);
		if (!row->stream_id)
			return error_set_field(err, ERR_SEMANTIC, "settings",
				"setting '%.*s' is from stream '%.*s', which the job does not have",
				SPAN_ARGS(row->key), SPAN_ARGS(row->stream));
	}
	return OK;
}

static enum status check_count(const char *field, uint64_t said, uint64_t came, struct error *err)
{
	return said == came ? OK
			    : error_set_field(err, ERR_SEMANTIC, field, "'%s' is %llu, and %llu came", field,
				      (unsigned long long)said, (unsigned long long)came);
}

static enum status take_end(struct carry_import *import, const struct carry_end *end, struct error *err)
{
	const struct carry_counts *came = &import->counts, *said = &end->counts;
	struct carry_op *op;

	TRY(finish_stream(import, err));
	if (!span_equal(end->name, import->job->job.row.name))
		return error_set_field(err, ERR_SEMANTIC, "name", "this ends job '%.*s', not '%.*s'",
			SPAN_ARGS(import->job->job.row.name), SPAN_ARGS(end->name));
	TRY(check_count("streams", said->streams, came->streams, err));
	TRY(check_count("lines", said->lines, came->lines, err));
	TRY(check_count("points", said->points, came->points, err));
	TRY(check_count("incidents", said->incidents, came->incidents, err));
	TRY(number_settings(import->job, err));
	TRY(add_op(import, OP_END, &op, err));
	forget_job(import); /* it is the batch's now */
	return OK;
}

/* ---- records ---- */

static enum status begin_job(struct carry_import *import, struct span line, struct error *err)
{
	AUTO(carried) job = mem_zeroed(sizeof *job);
	struct carry_record record;

	if (!job || !(job->arena = arena_new()))
		return error_no_memory(err);
	TRY(carry_read(line, job->arena, &record, err));
	if (record.kind != CARRY_JOB)
		return error_set_field(err, ERR_SEMANTIC, "record",
			"a job begins with a record \"job\", not with \"%s\"", carry_kind_name(record.kind));
	TRY(take_job(import, job, &record, err));
	job = NULL;
	return OK;
}

static enum status take_record(struct carry_import *import, struct arena **arena, struct span line, struct error *err)
{
	struct carry_record record;

	TRY(carry_read(line, *arena, &record, err));
	switch (record.kind) {
	case CARRY_JOB:
		return error_set_field(err, ERR_SEMANTIC, "record", "job '%.*s' has no end before the next one begins",
			SPAN_ARGS(import->job->job.row.name));
	case CARRY_STREAM:
		if (import->has_incidents)
			return error_set_field(err, ERR_SEMANTIC, "record", "streams come before incidents");
		TRY(finish_stream(import, err));
		struct arena *owned = *arena;
		*arena = NULL;
		return take_stream(import, owned, &record, err);
	case CARRY_LINES:
		return take_lines(import, &record.lines, err);
	case CARRY_POINTS:
		return take_points(import, &record.points, err);
	case CARRY_INCIDENT:
		return take_incident(import, &record.incident, err);
	case CARRY_END:
		return take_end(import, &record.end, err);
	case CARRY_KIND_COUNT:
		break;
	}
	return error_set(err, ERR_INTERNAL, "a record of no kind");
}

enum status carry_import_take(struct carry_import *import, struct span line, struct error *err)
{
	AUTO(arena) arena = NULL;

	if (!import->job)
		return begin_job(import, line, err);
	if (!(arena = arena_new()))
		return error_no_memory(err);
	return take_record(import, &arena, line, err);
}

enum status carry_import_end(struct carry_import *import, struct error *err)
{
	if (!import->job)
		return OK;
	return error_set(err, ERR_INVALID,
		"the body ends in the middle of job '%.*s', which was not imported: it was cut off, here or when it was exported",
		SPAN_ARGS(import->job->job.row.name));
}

/* ---- to the writer ---- */

bool carry_import_has_work(const struct carry_import *import)
{
	return import->batch && import->batch->first;
}

bool carry_import_is_full(const struct carry_import *import)
{
	return carry_import_has_work(import) &&
	       (arena_bytes(import->batch->arena) >= BATCH_BYTES || import->batch->jobs >= BATCH_JOBS);
}

size_t carry_import_bytes(const struct carry_import *import)
{
	size_t bytes = import->batch ? arena_bytes(import->batch->arena) : 0;

	bytes += import->job ? arena_bytes(import->job->arena) : 0;
	bytes += import->stream_arena ? arena_bytes(import->stream_arena) : 0;
	bytes += import->text ? arena_bytes(import->text) : 0;
	return bytes + import->line_cap * sizeof *import->lines;
}

static void note_result(struct carry_import *import, const struct carry_batch *batch)
{
	struct json_writer w = json_writer_on(&import->skipped);

	for (const struct carry_op *op = batch->first; op; op = op->next) {
		if (op->kind != OP_END)
			continue;
		import->result.imported += !op->job->is_skipped;
		import->result.skipped += op->job->is_skipped;
		w.needs_comma = import->skipped.len != 0;
		if (op->job->is_skipped && import->skipped.len + SKIPPED_NAMES_ROOM < SKIPPED_NAMES_BYTES)
			json_span(&w, op->job->job.row.name);
	}
}

static void pushed(void *context, struct carry_batch *batch, enum status status, const struct error *err)
{
	struct carry_import *import = context;

	import->has_failed = import->has_failed || status != OK;
	if (status == OK)
		note_result(import, batch);
	else
		drop_jobs(import, batch);
	import->done(import->done_context, status, err); /* the last touch of the import; err is the batch's */
	carry_batch_free(batch);
}

enum status carry_import_push(struct carry_import *import,
	void (*done)(void *context, enum status status, const struct error *err), void *context, struct error *err)
{
	struct carry_batch *batch = import->batch;

	import->done = done;
	import->done_context = context;
	import->batch = NULL;
	enum status status = carry_batch_push(batch, pushed, import, err);
	if (status != OK)
		import->batch = batch;
	return status;
}

void carry_import_result(const struct carry_import *import, struct carry_result *out)
{
	*out = import->result;
	out->skipped_names = buf_span(&import->skipped);
}
