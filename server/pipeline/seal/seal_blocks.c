/* The text of what a run of the sealer writes: the lines of its streams from the journal, as blocks. */
#include "base/log.h"
#include "pipeline/seal/seal.h"
#include "state/streams/directory.h"
#include "state/pipeline_state.h"
#include "store/blocks.h"
#include "store/journal.h"
#include "store/pack/log_filter.h"

#include <stdlib.h>

enum {
	AHEAD_BYTES = 4 << 20, /* more text of one stream than this is sealed ahead of the rest, so much at a time */
	ASK_ROWS = 256, /* of the journal at once */
	ASK_BYTES = 4 << 20, /* of text in them */
	/* A last block is written again with what follows: a small one with whatever that is, an open one if it is as much. */
	SMALL_BLOCK_BYTES = BLOCK_MAX_BYTES / 16,
	OPEN_BLOCK_BYTES = BLOCK_MAX_BYTES / 4,
};

/* ---- which text ---- */

static const struct tail_range *end_of_ahead(const struct stream_state *stream, size_t from, size_t *bytes)
{
	size_t i = from;

	/* By lines, not by sequence: of two slices of one commit only the first may have been extracted yet. */
	for (; i < stream->range_count && stream->ranges[i].first_line < stream->extracted_lines &&
		*bytes < AHEAD_BYTES;
		i++)
		*bytes += stream->ranges[i].text_bytes;
	return stream->ranges + i;
}

/* Under the stream's lock. */
bool seal_copy_ranges(struct seal *seal, struct unit *unit)
{
	struct stream_state *stream = unit->stream;
	size_t from = 0, bytes = 0;

	unit->text_line = stream->text_lines > stream->sealed_lines ? stream->text_lines : stream->sealed_lines;
	while (from < stream->range_count && stream->ranges[from].first_line < unit->text_line)
		from++;
	const struct tail_range *end = end_of_ahead(stream, from, &bytes);
	unit->range_count = (size_t)(end - (stream->ranges + from));
	unit->is_whole = end == stream->ranges + stream->range_count || end->first_line >= stream->extracted_lines;
	unit->text_end = unit->is_whole ? stream->extracted_lines : end->first_line;
	unit->ranges = arena_alloc(seal->arena, unit->range_count * sizeof *unit->ranges);
	if (!unit->ranges)
		return false;
	if (unit->range_count)
		memcpy(unit->ranges, stream->ranges + from, unit->range_count * sizeof *unit->ranges);
	unit->text_bytes = bytes;
	seal->text_bytes += bytes;
	return true;
}

/* ---- blocks ---- */

/* What came compressed without a filter is opened once for this: a search then need not open it. */
static enum status make_filter(struct seal *seal, struct block_row *row, struct span content, struct error *err)
{
	AUTO_DONE(buf) plain = BUF_INIT(SIZE_MAX / 2);
	AUTO_DONE(buf) packed = BUF_INIT(SIZE_MAX / 2);

	if (!content.len) {
		TRY(block_decompress(row->data, seal->zstd, &plain, err));
		content = buf_span(&plain);
	}
	TRY(log_filter_pack(block_text(content), &packed, err));
	row->filter = arena_copy(seal->arena, buf_span(&packed));
	return row->filter.ptr ? OK : error_no_memory(err);
}

/* The one place where a block is finished: content is what it holds (block_lines), or empty where it came compressed. */
static enum status finish_block(
	struct seal *seal, struct unit *unit, struct block_row row, struct span content, struct error *err)
{
	if (!row.filter.len)
		TRY(make_filter(seal, &row, content, err));
	if (!mem_grow((void **)&unit->blocks, unit->block_count, &unit->block_cap, sizeof *unit->blocks))
		return error_no_memory(err);
	row.job_id = unit->stream->job->job_id;
	row.stream_id = unit->stream->stream_id;
	row.data = arena_copy(seal->arena, row.data);
	if (!row.data.ptr)
		return error_no_memory(err);
	unit->blocks[unit->block_count++] = row;
	return OK;
}

static enum status add_block(struct seal *seal, struct unit *unit, uint64_t first_line, const struct line *lines,
	size_t count, uint64_t raw_bytes, struct error *err)
{
	AUTO_DONE(buf) content = BUF_INIT(SIZE_MAX / 2);
	AUTO_DONE(buf) packed = BUF_INIT(SIZE_MAX / 2);
	struct block_row row = {.first_line = first_line,
		.line_count = count,
		.raw_bytes = raw_bytes,
		.first_ms = lines[0].ts_ms,
		.last_ms = lines[0].ts_ms};

	for (size_t i = 0; i < count; i++) {
		row.first_ms = lines[i].ts_ms < row.first_ms ? lines[i].ts_ms : row.first_ms;
		row.last_ms = lines[i].ts_ms > row.last_ms ? lines[i].ts_ms : row.last_ms;
	}
	buf_reserve(&content, raw_bytes + 2 * count + 64);
	TRY(block_lay_out(lines, count, &content, err));
	TRY(block_compress(buf_span(&content), seal->zstd, &packed, err));
	row.data = buf_span(&packed);
	return finish_block(seal, unit, row, buf_span(&content), err);
}

static enum status add_blocks(struct seal *seal, struct unit *unit, uint64_t first_line, const struct line *lines,
	size_t count, struct error *err)
{
	uint64_t bytes = 0;
	size_t start = 0;

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

static enum status join_open_block(struct seal *seal, const struct unit *unit, struct arena *arena, struct buf *plain,
	struct line **lines, size_t *old_count, struct error *err)
{
	struct block_row open;
	struct line *old;

	TRY(store_read_last_block(seal->reader, arena, unit->stream->job->job_id, unit->stream->stream_id, &open, err));
	enum status status = block_unpack(open.data, seal->zstd, plain, arena, &old, old_count, err);
	if (status ==
		ERR_INVALID) { /* it stays as it is, for readers to be told; the new lines get a block of their own */
		seal_note_damage(seal, unit->stream, "block", open.first_line, err);
		*old_count = 0;
		return OK;
	}
	TRY(status);
	*lines = arena_alloc(arena, (*old_count + unit->line_count) * sizeof **lines);
	if (!*lines)
		return error_no_memory(err);
	memcpy(*lines, old, *old_count * sizeof **lines);
	memcpy(*lines + *old_count, unit->lines, unit->line_count * sizeof **lines);
	return OK;
}

/* What was collected becomes blocks, the stream's open block's lines in front. */
static enum status flush_lines(struct seal *seal, struct unit *unit, struct error *err)
{
	AUTO_DONE(buf) plain = BUF_INIT(SIZE_MAX / 2);
	AUTO(arena) arena = arena_new();
	struct line *lines = unit->lines;
	size_t old_count = 0;

	if (!unit->line_count)
		return OK;
	if (!arena)
		return error_no_memory(err);
	if (unit->has_open_block)
		TRY(join_open_block(seal, unit, arena, &plain, &lines, &old_count, err));
	uint64_t first_line = unit->text_line - unit->line_count - old_count;
	TRY(add_blocks(seal, unit, first_line, lines, old_count + unit->line_count, err));
	unit->has_open_block = false;
	unit->line_count = 0;
	return OK;
}

/* The last block: text goes on behind it, and in it while it is small. After a crash it may be ahead of what RAM knows. */
static enum status look_at_last_block(struct seal *seal, struct unit *unit, struct error *err)
{
	struct block_row last;

	TRY(store_read_last_block_head(seal->reader, unit->stream->job->job_id, unit->stream->stream_id, &last, err));
	uint64_t end = last.first_line + last.line_count;
	if (!last.line_count || end < unit->text_line)
		return OK;
	unit->text_line = end;
	unit->text_end = end > unit->text_end ? end : unit->text_end;
	unit->has_open_block = last.raw_bytes < SMALL_BLOCK_BYTES ||
			       (last.raw_bytes < OPEN_BLOCK_BYTES && last.raw_bytes <= unit->text_bytes);
	return OK;
}

static enum status look_at_last_blocks(struct seal *seal, struct error *err)
{
	if (store_reader_ahead_begin(seal->reader, AHEAD_STOP)) {
		for (size_t i = 0; i < seal->count; i++)
			(void)!look_at_last_block(seal, &seal->units[i], NULL);
		TRY(store_reader_ahead_end(seal->reader, err));
	}
	for (size_t i = 0; i < seal->count; i++)
		TRY(look_at_last_block(seal, &seal->units[i], err));
	store_reader_ahead_drop(seal->reader);
	return OK;
}

/* ---- lines, from the journal ---- */

static enum status add_line(struct unit *unit, const struct line *line, struct error *err)
{
	if (!mem_grow((void **)&unit->lines, unit->line_count, &unit->line_cap, sizeof *unit->lines))
		return error_no_memory(err);
	unit->lines[unit->line_count++] = *line;
	unit->text_line++;
	return OK;
}

/* Numbers are for ever: where the text of a line is lost, the line says so. */
static enum status fill_gap(struct seal *seal, struct unit *unit, uint64_t upto, int64_t ts_ms, struct error *err)
{
	struct line lost = {.text = SPAN("(lost: the journal record of this line is damaged)"), .ts_ms = ts_ms};
	uint64_t first = unit->text_line;

	if (first >= upto)
		return OK;
	log_line(LOG_ERROR, "lines_lost", "job=\"%s\" stream=\"%s\" first_line=%llu lines=%llu",
		unit->stream->job->name, unit->stream->name, (unsigned long long)first,
		(unsigned long long)(upto - first));
	atomic_fetch_add(&seal->pipeline->figures.lost_lines, upto - first);
	while (unit->text_line < upto)
		TRY(add_line(unit, &lost, err));
	return OK;
}

static enum status add_slice_lines(
	struct seal *seal, struct unit *unit, const struct journal_slice *slice, bool is_kept, struct error *err)
{
	struct journal_cursor cursor = journal_lines(slice);
	struct line line;

	for (uint64_t number = slice->first_line; journal_next_line(&cursor, &line); number++) {
		if (number < unit->text_line)
			continue;
		line.ts_ms = line_effective_ms(&line, slice->arrival_ms);
		line.text = is_kept ? line.text : arena_copy(seal->arena, line.text);
		if (!line.text.ptr)
			return error_no_memory(err);
		TRY(add_line(unit, &line, err));
	}
	return OK;
}

static struct span find_filter(const struct unit *unit, const struct journal_slice *slice)
{
	for (size_t i = 0; i < unit->range_count; i++) {
		const struct tail_range *range = &unit->ranges[i];
		if (range->line_count == slice->line_count && range->first_line == slice->first_line)
			return kept_filter_span(range->filter);
	}
	return SPAN("");
}

/* A slice that is a block already, and goes on where the text stands, is that. */
static enum status add_slice_block(
	struct seal *seal, struct unit *unit, const struct journal_slice *slice, struct error *err)
{
	struct block_row row = {.first_line = slice->first_line,
		.line_count = slice->line_count,
		.raw_bytes = slice->text_bytes,
		.first_ms = slice->first_ms,
		.last_ms = slice->last_ms,
		.data = slice->block,
		.filter = find_filter(unit, slice)};

	TRY(flush_lines(seal, unit, err));
	TRY(finish_block(seal, unit, row, SPAN(""), err));
	unit->has_open_block = false;
	unit->text_line += slice->line_count;
	return OK;
}

static enum status take_slice(
	struct seal *seal, struct unit *unit, struct journal_slice *slice, bool is_kept, struct error *err)
{
	AUTO_DONE(buf) text = BUF_INIT(SIZE_MAX / 2);
	struct error damage;
	uint64_t end = slice->first_line + slice->line_count;

	if (slice->kind == JOURNAL_POINTS)
		return OK; /* is in the series by now */
	if (end <= unit->text_line || end > unit->text_end)
		return OK; /* sealed already, or behind this snapshot */
	TRY(fill_gap(seal, unit, slice->first_line, slice->arrival_ms, err));
	if (slice->kind == JOURNAL_BLOCK && slice->first_line == unit->text_line)
		return add_slice_block(seal, unit, slice, err);
	enum status status = is_kept ? OK : journal_open_slice(slice, seal->zstd, &text, &damage);
	if (status == ERR_INVALID)
		return OK; /* what follows finds the gap */
	if (status != OK) {
		*err = damage;
		return status;
	}
	return add_slice_lines(seal, unit, slice, is_kept, err);
}

static struct unit *find_unit(struct unit **sorted, size_t count, const struct journal_slice *slice)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = (low + high) / 2;
		const struct stream_state *stream = sorted[middle]->stream;
		if (stream->job->job_id == slice->job_id && stream->stream_id == slice->stream_id)
			return sorted[middle];
		if (stream->job->job_id < slice->job_id ||
			(stream->job->job_id == slice->job_id && stream->stream_id < slice->stream_id))
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

static enum status take_slices(struct seal *seal, struct unit **sorted, const struct journal_slice *slices,
	size_t count, bool is_kept, struct error *err)
{
	for (size_t i = 0; i < count; i++) {
		struct journal_slice slice = slices[i];
		struct unit *unit = find_unit(sorted, seal->count, &slice);
		if (unit)
			TRY(take_slice(seal, unit, &slice, is_kept, err));
	}
	return OK;
}

static enum status read_row(struct seal *seal, struct unit **sorted, uint64_t seq, struct error *err)
{
	AUTO(arena) arena = arena_new();
	AUTO_DONE(buf) plain = BUF_INIT(SIZE_MAX / 2);
	struct journal_slice *slices = NULL;
	struct span record;
	size_t count = 0;

	if (!arena)
		return error_no_memory(err);
	enum status status = store_read_journal(seal->reader, arena, seq, &record, err);
	if (status == OK)
		status = journal_unpack(record, seal->zstd, &plain, &slices, &count, arena, err);
	if (status == ERR_INVALID || status == ERR_NOT_FOUND) { /* its slices are lost, and they alone */
		log_line(LOG_ERROR, "journal_damaged", "seq=%llu error=\"%s\"", (unsigned long long)seq, err->text);
		return OK;
	}
	return status == OK ? take_slices(seal, sorted, slices, count, false, err) : status;
}

static int compare_rows(const void *a, const void *b)
{
	const struct journal_row *x = a, *y = b;

	return (x->seq > y->seq) - (x->seq < y->seq);
}

static int compare_units(const void *a, const void *b)
{
	const struct stream_state *x = (*(struct unit *const *)a)->stream, *y = (*(struct unit *const *)b)->stream;

	if (x->job->job_id != y->job->job_id)
		return x->job->job_id < y->job->job_id ? -1 : 1;
	return (x->stream_id > y->stream_id) - (x->stream_id < y->stream_id);
}

/* The rows from this one on whose text is not too much at once, in one round trip. Where they end. */
static enum status ask_rows(
	struct seal *seal, const struct journal_row *rows, size_t count, size_t *end, struct error *err)
{
	struct span record;
	uint64_t bytes = 0;

	store_reader_ahead_drop(seal->reader);
	*end = count;
	if (!store_reader_ahead_begin(seal->reader, AHEAD_STOP))
		return OK;
	for (*end = 0; *end < count && *end < ASK_ROWS && bytes < ASK_BYTES; ++*end) {
		if (rows[*end].kept)
			continue;
		(void)!store_read_journal(seal->reader, seal->arena, rows[*end].seq, &record, NULL);
		bytes += rows[*end].text_bytes;
	}
	return store_reader_ahead_end(seal->reader, err);
}

/* In order, each once, however many of the streams are in it. */
static size_t list_rows(const struct seal *seal, struct journal_row *rows)
{
	size_t count = 0, kept = 0;

	for (size_t i = 0; i < seal->count; i++)
		for (size_t j = 0; j < seal->units[i].range_count; j++)
			rows[count++] = (struct journal_row){
				seal->units[i].ranges[j].seq, seal->units[i].ranges[j].text_bytes, NULL};
	qsort(rows, count, sizeof *rows, compare_rows);
	for (size_t i = 0; i < count; i++)
		if (kept && rows[kept - 1].seq == rows[i].seq)
			rows[kept - 1].text_bytes += rows[i].text_bytes;
		else
			rows[kept++] = rows[i];
	return kept;
}

/* What the writer and the extraction have left in RAM is not read again. */
static enum status find_rows(struct seal *seal, struct error *err)
{
	size_t count = 0;

	for (size_t i = 0; i < seal->count; i++)
		count += seal->units[i].range_count;
	seal->rows = arena_alloc(seal->arena, count * sizeof *seal->rows);
	if (!seal->rows)
		return error_no_memory(err);
	seal->row_count = list_rows(seal, seal->rows);
	for (size_t i = 0; i < seal->row_count; i++)
		seal->rows[i].kept = kept_groups_find(&seal->pipeline->kept_groups, seal->rows[i].seq);
	return OK;
}

void seal_free_rows(struct seal *seal)
{
	for (size_t i = 0; i < seal->row_count; i++)
		kept_group_unref(seal->rows[i].kept);
	seal->row_count = 0;
}

static enum status take_row(struct seal *seal, struct unit **sorted, const struct journal_row *row, struct error *err)
{
	return row->kept ? take_slices(seal, sorted, row->kept->slices, row->kept->count, true, err)
			 : read_row(seal, sorted, row->seq, err);
}

static enum status read_rows(struct seal *seal, struct error *err)
{
	struct unit **sorted = arena_alloc(seal->arena, seal->count * sizeof(struct unit *));

	if (!sorted)
		return error_no_memory(err);
	for (size_t i = 0; i < seal->count; i++)
		sorted[i] = &seal->units[i];
	qsort(sorted, seal->count, sizeof(struct unit *), compare_units);
	TRY(find_rows(seal, err));
	for (size_t at = 0, some; at < seal->row_count; at += some) {
		TRY(ask_rows(seal, seal->rows + at, seal->row_count - at, &some, err));
		for (size_t i = 0; i < some; i++)
			TRY(take_row(seal, sorted, &seal->rows[at + i], err));
	}
	store_reader_ahead_drop(seal->reader);
	return OK;
}

/* The open blocks that what was collected goes into. */
static enum status ask_open_blocks(struct seal *seal, struct error *err)
{
	if (!store_reader_ahead_begin(seal->reader, AHEAD_STOP))
		return OK;
	for (size_t i = 0; i < seal->count; i++) {
		const struct unit *unit = &seal->units[i];
		struct block_row open;
		if (unit->has_open_block && unit->line_count)
			(void)!store_read_last_block(seal->reader, seal->arena, unit->stream->job->job_id,
				unit->stream->stream_id, &open, NULL);
	}
	return store_reader_ahead_end(seal->reader, err);
}

enum status seal_make_blocks(struct seal *seal, struct error *err)
{
	TRY(look_at_last_blocks(seal, err));
	TRY(read_rows(seal, err));
	TRY(ask_open_blocks(seal, err));
	for (size_t i = 0; i < seal->count; i++) {
		struct unit *unit = &seal->units[i];
		if (unit->range_count)
			TRY(fill_gap(seal, unit, unit->text_end, unit->ranges[unit->range_count - 1].arrival_ms, err));
		TRY(flush_lines(seal, unit, err));
	}
	store_reader_ahead_drop(seal->reader);
	return OK;
}

enum status seal_write_blocks(const struct unit *unit, struct store_tx *tx, struct error *err)
{
	for (size_t i = 0; i < unit->block_count; i++)
		TRY(store_put_block(tx, &unit->blocks[i], err));
	return OK;
}

static bool is_range_sealed(const struct tail_range *range, const struct unit *unit)
{
	return range->point_count ? range->first_point < unit->sent_points : range->first_line < unit->sealed_lines;
}

/* After the commit, under the stream's lock. */
void seal_drop_ranges(const struct unit *unit)
{
	struct stream_state *stream = unit->stream;
	size_t count = 0;

	for (; count < stream->range_count && is_range_sealed(&stream->ranges[count], unit); count++) {
		stream->unsealed_bytes -= stream->ranges[count].text_bytes;
		kept_filter_free(stream->ranges[count].filter);
	}
	stream->range_count -= count;
	if (count && stream->range_count) /* of a state that is sealed alone there is no array */
		memmove(stream->ranges, stream->ranges + count, stream->range_count * sizeof *stream->ranges);
}

void seal_free_text(struct unit *unit)
{
	mem_free(unit->lines);
	mem_free(unit->blocks);
	unit->lines = NULL;
	unit->blocks = NULL;
}
