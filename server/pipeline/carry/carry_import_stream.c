#include "pipeline/carry/carry_import_stream.h"

#include "state/streams/stream_head.h"
#include "state/streams/stream_pack.h"
#include "store/blocks.h"
#include "store/pack/log_filter.h"
#include "store/points.h"
#include "store/streams.h"

void carry_import_forget_stream(struct carry_import *import)
{
	arena_free(import->stream_arena);
	import->stream_arena = NULL;
	import->points = NULL;
	import->line_count = import->line_bytes = 0;
	import->chunk_count = 0;
}

enum status carry_import_add_op(
	struct carry_import *import, enum carry_op_kind kind, struct carry_op **out, struct error *err)
{
	if (!import->batch)
		import->batch = carry_batch_new(import->pipeline);
	*out = import->batch ? carry_batch_add(import->batch, kind, import->job) : NULL;
	return *out ? OK : error_no_memory(err);
}

bool carry_import_copy(struct arena *arena, struct span *span)
{
	*span = arena_copy(arena, *span);
	return span->ptr != NULL;
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
		if (!carry_import_copy(arena, &rows[i].source))
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
		if (!carry_import_copy(arena, &rows[i].host))
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
		if (!carry_import_copy(arena, &rows[i].signature) || !carry_import_copy(arena, &rows[i].text) ||
			!carry_import_copy(arena, &rows[i].host))
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

	TRY(carry_import_add_op(import, OP_STREAM, &op, err));
	struct arena *arena = import->batch->arena;
	op->stream = import->stream;
	bool is_whole = carry_import_copy(arena, &op->stream.row.name) &&
			carry_import_copy(arena, &op->stream.row.host) &&
			carry_import_copy(arena, &op->stream.row.state) &&
			carry_import_copy(arena, &op->stream.expired.reason) &&
			carry_import_copy(arena, &op->stream.exit.reason) && copy_hosts(arena, &op->stream) &&
			copy_sources(arena, &op->stream) && copy_hits(arena, &op->stream) &&
			copy_checkpoints(arena, &op->stream);
	return is_whole ? OK : error_no_memory(err);
}

enum status carry_import_take_stream(
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
	TRY(carry_import_add_op(import, OP_BLOCK, &op, err));
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
	if (!carry_import_copy(import->text, &kept.text))
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

enum status carry_import_take_lines(struct carry_import *import, const struct carry_lines *lines, struct error *err)
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
	TRY(carry_import_add_op(import, OP_CHUNK, &op, err));
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

enum status carry_import_take_points(struct carry_import *import, const struct carry_points *points, struct error *err)
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
	TRY(carry_import_add_op(import, OP_SERIES, &op, err));
	op->series = (struct series_row){.series_id = view->series_id,
		.stream_id = (uint32_t)import->counts.streams,
		.metric = view->metric,
		.labels = SPAN(""),
		.unit = view->unit,
		.role = view->role,
		.sealed_points = view->sealed_points,
		.sealed = view->summary};
	struct arena *arena = import->batch->arena;
	return carry_import_copy(arena, &op->series.metric) && carry_import_copy(arena, &op->series.unit)
		       ? OK
		       : error_no_memory(err);
}

enum status carry_import_finish_stream(struct carry_import *import, struct error *err)
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
	carry_import_forget_stream(import);
	return OK;
}
