/* What a run of the sealer writes: the lines of its streams from the journal, packed into blocks; their points into chunks. */
#include "pipeline/seal.h"

enum { OPEN_BLOCK_BYTES = BLOCK_MAX_BYTES / 2 /* a last block smaller than this is written again with what follows */ };

static enum status out_of_memory(struct error *err)
{
	return error_set(err, ERR_MEMORY, "out of memory");
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

enum status seal_build(struct seal *seal, struct error *err)
{
	TRY(read_rows(seal, err));
	for (size_t i = 0; i < seal->count; i++) {
		TRY(make_blocks(seal, &seal->units[i], err));
		TRY(make_chunks(seal, &seal->units[i], err));
	}
	return OK;
}
