/* The text of what a run of the sealer writes: the lines of its streams from the journal, packed into blocks. */
#include "pipeline/seal.h"

enum { OPEN_BLOCK_BYTES = BLOCK_MAX_BYTES / 2 /* a last block smaller than this is written again with what follows */ };

static enum status out_of_memory(struct error *err)
{
	return error_set(err, ERR_MEMORY, "out of memory");
}

/* Under the stream's lock. */
bool seal_copy_ranges(struct seal *seal, struct unit *unit)
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
enum status seal_read_rows(struct seal *seal, struct error *err)
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

enum status seal_make_blocks(struct seal *seal, struct unit *unit, struct error *err)
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

enum status seal_write_blocks(const struct unit *unit, struct store_tx *tx, struct error *err)
{
	for (size_t i = 0; i < unit->block_count; i++)
		TRY(store_put_block(tx, &unit->blocks[i], err));
	return OK;
}

/* After the commit, under the stream's lock. */
void seal_drop_ranges(const struct unit *unit)
{
	struct stream_state *stream = unit->stream;

	for (size_t i = 0; i < unit->range_count; i++)
		stream->unsealed_bytes -= unit->ranges[i].text_bytes;
	memmove(stream->ranges, stream->ranges + unit->range_count,
		(stream->range_count - unit->range_count) * sizeof *stream->ranges);
	stream->range_count -= unit->range_count;
}
