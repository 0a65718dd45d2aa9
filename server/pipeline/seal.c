/*
 * The sealer: moves whole streams from the journal into blocks and chunks, together with the state of their consumers, in
 * one transaction each time. A stream's row then says up to where; a restart replays what is above.
 */
#include "pipeline/internal.h"

#include <stdlib.h>

enum {
	UNITS_MAX = 64,
	RUN_TEXT_BYTES = 8 << 20, /* of text taken in one run: bounds memory and the length of the transaction */
	STREAM_DUE_BYTES = BLOCK_MAX_BYTES,
	STREAM_DUE_POINTS = 16 * CHUNK_MAX_POINTS,
	OPEN_BLOCK_BYTES = BLOCK_MAX_BYTES / 2, /* a last block smaller than this is written again with what follows */
	IDLE_DECIDES_MS = 60 * 1000, /* a provisional attempt of a stream that is silent so long is final */
};

struct sealed_series {
	struct series_row row;
	uint64_t first_ordinal;
	struct point *points;
	size_t count;
};

struct unit {
	struct stream_state *stream; /* job counted */
	uint64_t upto_seq, first_line, line_count;
	uint64_t sent_bytes; /* of the stream up to upto_seq */
	int64_t first_ms, last_ms;
	struct tail_range *ranges;
	size_t range_count;
	struct sealed_series *series;
	size_t series_count;
	struct buf state;
	struct line *lines; /* filled from the journal */
	size_t filled;
	struct block_row *blocks;
	size_t block_count;
	struct chunk_row *chunks;
	size_t chunk_count;
};

struct seal {
	struct pipeline *pipeline;
	struct store_reader *reader;
	struct zstd *zstd;
	struct arena *arena; /* everything of this run */
	struct unit units[UNITS_MAX];
	size_t count;
	size_t text_bytes;
	bool all;
	bool is_journal_long; /* half of what it may hold: from there on nothing waits to be decided */
};

static enum status out_of_memory(struct error *err)
{
	return error_set(err, ERR_MEMORY, "out of memory");
}

/* ---- choosing and snapshots: under the stream's lock ---- */

static bool is_due(const struct seal *seal, const struct stream_state *stream)
{
	bool is_silent = clock_mono_ms() - stream->heard_mono_ms > IDLE_DECIDES_MS;

	if (!stream->range_count || stream->extracted_lines <= stream->sealed_lines || stream->pending_incidents)
		return false;
	/* Only while there is room: one such stream keeps the whole journal behind its oldest line. */
	if (extractor_is_undecided(stream->extractor) && !is_silent && !seal->is_journal_long)
		return false;
	if (seal->all || stream->unsealed_bytes >= STREAM_DUE_BYTES)
		return true;
	for (size_t i = 0; i < stream->series_count; i++)
		if (stream->series[i]->tail_count >= STREAM_DUE_POINTS)
			return true;
	return false;
}

static bool copy_series(struct seal *seal, struct unit *unit)
{
	struct stream_state *stream = unit->stream;

	unit->series_count = stream->series_count;
	unit->series = arena_alloc(seal->arena, stream->series_count * sizeof *unit->series);
	for (size_t i = 0; i < stream->series_count && unit->series; i++) {
		struct series_state *series = stream->series[i];
		struct sealed_series *copy = &unit->series[i];
		copy->first_ordinal = series->sealed_points;
		copy->count = series->tail_count;
		copy->points = arena_alloc(seal->arena, copy->count * sizeof *copy->points);
		struct span metric = arena_copy(seal->arena, span_from(series->metric));
		struct span unit_name = arena_copy(seal->arena, span_from(series->unit));
		if (!copy->points || !metric.ptr || !unit_name.ptr)
			return false;
		if (copy->count)
			memcpy(copy->points, series->tail, copy->count * sizeof *copy->points);
		copy->row = (struct series_row){.job_id = stream->job->job_id,
			.series_id = series->series_id,
			.stream_id = stream->stream_id,
			.metric = metric,
			.labels = SPAN(""),
			.unit = unit_name,
			.role = series->role,
			.sealed_points = copy->first_ordinal + copy->count,
			.sealed = series->summary};
	}
	return unit->series != NULL;
}

static bool copy_ranges(struct seal *seal, struct unit *unit)
{
	struct stream_state *stream = unit->stream;

	/* By lines, not by sequence: of two slices of one commit only the first may have been extracted yet. */
	while (unit->range_count < stream->range_count &&
		stream->ranges[unit->range_count].first_line < stream->extracted_lines)
		seal->text_bytes += stream->ranges[unit->range_count++].text_bytes;
	unit->ranges = arena_alloc(seal->arena, unit->range_count * sizeof *unit->ranges);
	unit->line_count = stream->extracted_lines - stream->sealed_lines;
	unit->lines = arena_alloc(seal->arena, unit->line_count * sizeof *unit->lines);
	if (!unit->ranges || !unit->lines)
		return false;
	memcpy(unit->ranges, stream->ranges, unit->range_count * sizeof *unit->ranges);
	return true;
}

static enum status snapshot(struct seal *seal, struct stream_state *stream, struct error *err)
{
	struct unit *unit = &seal->units[seal->count];

	*unit = (struct unit){.stream = stream,
		.upto_seq = stream->extracted_seq,
		.first_line = stream->sealed_lines,
		.sent_bytes = stream->extracted_bytes,
		.first_ms = stream->first_ms,
		.last_ms = stream->last_ms};
	unit->state = BUF_INIT(SIZE_MAX / 2);
	job_ref(stream->job);
	seal->count++;
	if (!copy_ranges(seal, unit) || !copy_series(seal, unit))
		return out_of_memory(err);
	stream_pack(stream, &unit->state);
	return buf_status(&unit->state, err);
}

static enum status choose_job(struct seal *seal, struct job_state *job, bool *has_more, struct error *err)
{
	enum status status = OK;

	struct stream_state *stream;
	for (size_t i = 0; status == OK && (stream = job_stream_at(job, i)); i++) {
		pthread_mutex_lock(&stream->mutex);
		if (is_due(seal, stream)) {
			if (seal->count == UNITS_MAX || seal->text_bytes >= RUN_TEXT_BYTES)
				*has_more = true;
			else
				status = snapshot(seal, stream, err);
		}
		pthread_mutex_unlock(&stream->mutex);
	}
	return status;
}

static enum status choose(struct seal *seal, bool *has_more, struct error *err)
{
	AUTO_MEM struct job_state **jobs = NULL;
	enum status status;
	size_t count;

	TRY(directory_list(seal->pipeline->directory, &jobs, &count, err));
	status = OK;
	for (size_t i = 0; i < count; i++) {
		if (status == OK && !*has_more && !atomic_load(&jobs[i]->is_deleted))
			status = choose_job(seal, jobs[i], has_more, err);
		job_unref(jobs[i]);
	}
	return status;
}

/* ---- text: from the journal ---- */

static struct unit *find_unit(struct seal *seal, const struct journal_slice *slice)
{
	for (size_t i = 0; i < seal->count; i++)
		if (seal->units[i].stream->stream_id == slice->stream_id &&
			seal->units[i].stream->job->job_id == slice->job_id)
			return &seal->units[i];
	return NULL;
}

static enum status fill_unit(struct seal *seal, struct unit *unit, const struct journal_slice *slice, struct error *err)
{
	struct journal_cursor cursor = journal_lines(slice);
	struct line line;

	if (slice->first_line != unit->first_line + unit->filled || slice->line_count > unit->line_count - unit->filled)
		return OK; /* sealed already, or behind this snapshot */
	while (journal_next_line(&cursor, &line)) {
		line.ts_ms = line_effective_ms(&line, slice->arrival_ms);
		line.text = arena_copy(seal->arena, line.text);
		if (!line.text.ptr)
			return out_of_memory(err);
		unit->lines[unit->filled++] = line;
	}
	return OK;
}

static enum status read_row(struct seal *seal, uint64_t seq, struct error *err)
{
	AUTO(arena) arena = arena_new();
	AUTO_DONE(buf) plain = BUF_INIT(SIZE_MAX / 2);
	struct journal_slice *slices;
	struct span record;
	size_t count;

	if (!arena)
		return out_of_memory(err);
	TRY(store_read_journal(seal->reader, arena, seq, &record, err));
	TRY(journal_unpack(record, seal->zstd, &plain, &slices, &count, arena, err));
	for (size_t i = 0; i < count; i++) {
		struct unit *unit = find_unit(seal, &slices[i]);
		if (unit)
			TRY(fill_unit(seal, unit, &slices[i], err));
	}
	return OK;
}

/* Rows in order, each once, however many of the streams are in it. */
static enum status read_rows(struct seal *seal, struct error *err)
{
	size_t at[UNITS_MAX] = {0};

	for (;;) {
		uint64_t next = UINT64_MAX;
		for (size_t i = 0; i < seal->count; i++)
			if (at[i] < seal->units[i].range_count && seal->units[i].ranges[at[i]].seq < next)
				next = seal->units[i].ranges[at[i]].seq;
		if (next == UINT64_MAX)
			break;
		TRY(read_row(seal, next, err));
		for (size_t i = 0; i < seal->count; i++)
			while (at[i] < seal->units[i].range_count && seal->units[i].ranges[at[i]].seq == next)
				at[i]++;
	}
	for (size_t i = 0; i < seal->count; i++)
		if (seal->units[i].filled != seal->units[i].line_count)
			return error_set(err, ERR_INTERNAL,
				"stream '%s' of job '%s': the journal holds %zu of %llu lines to seal",
				seal->units[i].stream->name, seal->units[i].stream->job->name, seal->units[i].filled,
				(unsigned long long)seal->units[i].line_count);
	return OK;
}

/* ---- blocks ---- */

static enum status add_block(struct seal *seal, struct unit *unit, uint64_t first_line, const struct line *lines,
	size_t count, uint64_t raw_bytes, struct error *err)
{
	AUTO_DONE(buf) packed = BUF_INIT(SIZE_MAX / 2);
	struct block_row *row = &unit->blocks[unit->block_count];

	TRY(block_pack(lines, count, seal->zstd, &packed, err));
	*row = (struct block_row){.job_id = unit->stream->job->job_id,
		.stream_id = unit->stream->stream_id,
		.first_line = first_line,
		.line_count = count,
		.raw_bytes = raw_bytes,
		.first_ms = lines[0].ts_ms,
		.last_ms = lines[0].ts_ms,
		.data = arena_copy(seal->arena, buf_span(&packed))};
	if (!row->data.ptr)
		return out_of_memory(err);
	for (size_t i = 0; i < count; i++) {
		row->first_ms = lines[i].ts_ms < row->first_ms ? lines[i].ts_ms : row->first_ms;
		row->last_ms = lines[i].ts_ms > row->last_ms ? lines[i].ts_ms : row->last_ms;
	}
	unit->block_count++;
	return OK;
}

/* The open last block's lines in front of the new ones. */
static enum status prepend_open_block(struct seal *seal, struct unit *unit, struct buf *plain, uint64_t *first_line,
	struct line **lines, size_t *count, struct error *err)
{
	struct block_row open;
	struct line *old;
	size_t old_count;

	*first_line = unit->first_line;
	*lines = unit->lines;
	*count = unit->filled;
	TRY(store_read_last_block(
		seal->reader, seal->arena, unit->stream->job->job_id, unit->stream->stream_id, &open, err));
	if (!open.line_count || open.raw_bytes >= OPEN_BLOCK_BYTES ||
		open.first_line + open.line_count != unit->first_line)
		return OK;
	TRY(block_unpack(open.data, seal->zstd, plain, seal->arena, &old, &old_count, err));
	struct line *joined = arena_alloc(seal->arena, (old_count + unit->filled) * sizeof *joined);
	if (!joined)
		return out_of_memory(err);
	memcpy(joined, old, old_count * sizeof *joined);
	memcpy(joined + old_count, unit->lines, unit->filled * sizeof *joined);
	*first_line = open.first_line;
	*lines = joined;
	*count = old_count + unit->filled;
	return OK;
}

static enum status make_blocks(struct seal *seal, struct unit *unit, struct error *err)
{
	AUTO_DONE(buf) plain = BUF_INIT(SIZE_MAX / 2);
	uint64_t first_line, bytes = 0, total = 0;
	struct line *lines;
	size_t count, start = 0;

	TRY(prepend_open_block(seal, unit, &plain, &first_line, &lines, &count, err));
	for (size_t i = 0; i < count; i++)
		total += lines[i].text.len + 1;
	/* Two neighbours exceed the limit together, so there are at most twice as many blocks as full ones. */
	unit->blocks = arena_alloc(seal->arena, (2 * total / BLOCK_MAX_BYTES + 2) * sizeof *unit->blocks);
	if (!unit->blocks)
		return out_of_memory(err);
	for (size_t i = 0; i < count; i++) {
		uint64_t more = lines[i].text.len + 1;
		if (i > start && bytes + more > BLOCK_MAX_BYTES) {
			TRY(add_block(seal, unit, first_line + start, lines + start, i - start, bytes, err));
			start = i;
			bytes = 0;
		}
		bytes += more;
	}
	return start < count ? add_block(seal, unit, first_line + start, lines + start, count - start, bytes, err) : OK;
}

/* ---- chunks ---- */

static void range_of(struct chunk_row *row, const struct point *points, size_t count)
{
	row->first_step = row->last_step = points[0].step;
	row->first_ms = row->last_ms = points[0].ts_ms;
	for (size_t i = 1; i < count; i++) {
		row->first_step = points[i].step < row->first_step ? points[i].step : row->first_step;
		row->last_step = points[i].step > row->last_step ? points[i].step : row->last_step;
		row->first_ms = points[i].ts_ms < row->first_ms ? points[i].ts_ms : row->first_ms;
		row->last_ms = points[i].ts_ms > row->last_ms ? points[i].ts_ms : row->last_ms;
	}
}

static enum status add_chunk(struct seal *seal, struct unit *unit, const struct sealed_series *series,
	uint64_t first_ordinal, const struct point *points, size_t count, struct error *err)
{
	AUTO_DONE(buf) packed = BUF_INIT(SIZE_MAX / 2);
	struct chunk_row *row = &unit->chunks[unit->chunk_count];

	TRY(chunk_pack(points, count, seal->zstd, &packed, err));
	*row = (struct chunk_row){.job_id = series->row.job_id,
		.series_id = series->row.series_id,
		.first_ordinal = first_ordinal,
		.point_count = count,
		.data = arena_copy(seal->arena, buf_span(&packed))};
	if (!row->data.ptr)
		return out_of_memory(err);
	range_of(row, points, count);
	unit->chunk_count++;
	return OK;
}

static enum status make_series_chunks(
	struct seal *seal, struct unit *unit, struct sealed_series *series, struct error *err)
{
	struct chunk_row open;
	struct point *points = arena_alloc(seal->arena, (series->count + CHUNK_MAX_POINTS) * sizeof *points);
	uint64_t first = series->first_ordinal;
	size_t count = 0;

	if (!points)
		return out_of_memory(err);
	TRY(store_read_last_chunk(seal->reader, seal->arena, series->row.job_id, series->row.series_id, &open, err));
	if (open.point_count && open.point_count < CHUNK_MAX_POINTS && open.first_ordinal + open.point_count == first) {
		TRY(chunk_unpack(open.data, seal->zstd, points, &count, err));
		first = open.first_ordinal;
	}
	memcpy(points + count, series->points, series->count * sizeof *points);
	count += series->count;
	for (size_t at = 0; at < count; at += CHUNK_MAX_POINTS) {
		size_t some = count - at < CHUNK_MAX_POINTS ? count - at : CHUNK_MAX_POINTS;
		TRY(add_chunk(seal, unit, series, first + at, points + at, some, err));
	}
	return OK;
}

static enum status make_chunks(struct seal *seal, struct unit *unit, struct error *err)
{
	size_t most = 0;

	for (size_t i = 0; i < unit->series_count; i++)
		most += unit->series[i].count / CHUNK_MAX_POINTS + 2;
	unit->chunks = arena_alloc(seal->arena, most * sizeof *unit->chunks);
	if (!unit->chunks)
		return out_of_memory(err);
	for (size_t i = 0; i < unit->series_count; i++)
		if (unit->series[i].count)
			TRY(make_series_chunks(seal, unit, &unit->series[i], err));
	return OK;
}

/* ---- the transaction ---- */

static enum status write_stream_row(
	const struct unit *unit, struct store_tx *tx, struct arena *arena, struct error *err)
{
	struct stream_row *rows;
	size_t count;

	TRY(store_read_streams(store_tx_reader(tx), arena, unit->stream->job->job_id, span_from(unit->stream->name),
		&rows, &count, err));
	if (!count)
		return OK; /* deleted meanwhile */
	rows[0].sealed_seq = unit->upto_seq;
	rows[0].sealed_lines = unit->first_line + unit->line_count;
	rows[0].sealed_bytes = unit->sent_bytes;
	rows[0].first_ms = unit->first_ms;
	rows[0].last_ms = unit->last_ms;
	rows[0].state = buf_span(&unit->state);
	return store_put_stream(tx, &rows[0], err);
}

static enum status write_unit(
	struct pipeline *pipeline, struct unit *unit, struct store_tx *tx, struct arena *arena, struct error *err)
{
	bool is_gone;

	TRY(is_job_gone(pipeline, tx, unit->stream->job, &is_gone, err));
	if (is_gone)
		return OK;
	for (size_t i = 0; i < unit->block_count; i++)
		TRY(store_put_block(tx, &unit->blocks[i], err));
	for (size_t i = 0; i < unit->chunk_count; i++)
		TRY(store_put_chunk(tx, &unit->chunks[i], err));
	for (size_t i = 0; i < unit->series_count; i++)
		TRY(store_put_series(tx, &unit->series[i].row, err));
	return write_stream_row(unit, tx, arena, err);
}

static enum status write_seal(void *context, struct store_tx *tx, struct error *err)
{
	struct seal *seal = context;

	for (size_t i = 0; i < seal->count; i++)
		TRY(write_unit(seal->pipeline, &seal->units[i], tx, seal->arena, err));
	return OK;
}

static void drop_points(struct series_state *series, size_t count)
{
	memmove(series->tail, series->tail + count, (series->tail_count - count) * sizeof *series->tail);
	series->tail_count -= count;
	series->sealed_points += count;
	if (series->tail_count == 0) { /* a quiet series keeps no memory */
		mem_free(series->tail);
		series->tail = NULL;
		series->tail_cap = 0;
	}
}

/* After the commit: RAM forgets what the store now holds. */
static void settle(struct pipeline *pipeline, struct unit *unit)
{
	struct stream_state *stream = unit->stream;
	size_t text_bytes = 0;

	pthread_mutex_lock(&stream->mutex);
	for (size_t i = 0; i < unit->range_count; i++)
		text_bytes += unit->ranges[i].text_bytes;
	memmove(stream->ranges, stream->ranges + unit->range_count,
		(stream->range_count - unit->range_count) * sizeof *stream->ranges);
	stream->range_count -= unit->range_count;
	stream->unsealed_bytes -= text_bytes;
	stream->sealed_seq = unit->upto_seq;
	stream->sealed_lines = unit->first_line + unit->line_count;
	stream->sealed_bytes = unit->sent_bytes;
	for (size_t i = 0; i < unit->series_count; i++) {
		drop_points(stream->series[i], unit->series[i].count);
		atomic_fetch_add(&pipeline->figures.sealed_points, unit->series[i].count);
	}
	pthread_mutex_unlock(&stream->mutex);
	atomic_fetch_add(&pipeline->figures.sealed_lines, unit->line_count);
}

static enum status seal_units(struct seal *seal, struct error *err)
{
	if (!seal->count)
		return OK;
	TRY(read_rows(seal, err));
	for (size_t i = 0; i < seal->count; i++) {
		TRY(make_blocks(seal, &seal->units[i], err));
		TRY(make_chunks(seal, &seal->units[i], err));
	}
	TRY(pipeline_execute(seal->pipeline, write_seal, seal, err));
	for (size_t i = 0; i < seal->count; i++)
		settle(seal->pipeline, &seal->units[i]);
	return OK;
}

enum status seal_run(struct pipeline *pipeline, struct store_reader *reader, struct zstd *zstd, bool all,
	bool *has_more, struct error *err)
{
	AUTO(arena) arena = arena_new();
	AUTO_MEM struct seal *seal = mem_zeroed(sizeof *seal);

	*has_more = false;
	if (!arena || !seal)
		return out_of_memory(err);
	*seal = (struct seal){.pipeline = pipeline, .reader = reader, .zstd = zstd, .arena = arena, .all = all};
	seal->is_journal_long = atomic_load(&pipeline->figures.journal_bytes) > pipeline->options.journal_bytes / 2;
	enum status status = choose(seal, has_more, err);
	if (status == OK)
		status = seal_units(seal, err);
	for (size_t i = 0; i < seal->count; i++) {
		buf_done(&seal->units[i].state);
		job_unref(seal->units[i].stream->job);
	}
	return status;
}
