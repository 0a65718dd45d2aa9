/* Stored lines by number: sealed ones from blocks, the rest from the journal rows that the directory names. */
#include "read/logs/lines.h"

#include "base/text/iso8601.h"
#include "state/streams/directory.h"
#include "state/pipeline_state.h"
#include "store/blocks.h"
#include "store/jobs.h"
#include "store/journal.h"
#include "store/retention.h"
#include "store/streams.h"

#include <inttypes.h>

struct reading {
	struct pipeline *pipeline;
	struct store_reader *reader;
	struct arena *arena;
	int64_t job_id;
	uint32_t stream_id;
	struct zstd *zstd;
	uint64_t from, end; /* wanted */
	struct tail_range *ranges;
	size_t range_count;
	uint64_t total;
	size_t max_bytes; /* of text; the first line is read whatever it is */
	struct line_view *lines;
	size_t count, bytes;
	struct buf *raw; /* not NULL: the text goes here as it came, and damage is marked instead of refused */
};

enum { RAW_BATCH_BYTES = 512 << 10 }; /* and the block that passes it: these are never read twice */

/* Why the line is in no block: ERR_GONE says what was deleted, when, by which limit, and where the stream goes on. */
static enum status explain_missing(
	struct store_reader *reader, int64_t job_id, uint32_t stream_id, uint64_t line, struct error *err)
{
	AUTO(arena) arena = arena_new();
	char deleted[ISO8601_BYTES], first[ISO8601_BYTES], last[ISO8601_BYTES];
	struct expired_text *notes;
	size_t count;

	if (!arena)
		return error_no_memory(err);
	TRY(store_read_expired(reader, arena, job_id, stream_id, &notes, &count, err));
	if (!count || line >= notes[0].first_kept_line)
		return error_set(
			err, ERR_IO, "line %" PRIu64 " is not where it should be: run `sm-server check`", line);
	iso8601_format(notes[0].deleted_ms, deleted);
	iso8601_format(notes[0].first_ms, first);
	iso8601_format(notes[0].last_ms, last);
	error_set(err, ERR_GONE,
		"line %" PRIu64 " was deleted on %s by the limit of %.*s: lines 0 to %" PRIu64 " (%" PRIu64
		" bytes, from %s to %s) are gone",
		line, deleted, SPAN_ARGS(notes[0].reason), notes[0].first_kept_line - 1, notes[0].bytes, first, last);
	if (err) {
		err->member = "first_kept_line";
		err->member_value = (int64_t)notes[0].first_kept_line;
	}
	return ERR_GONE;
}

/* Only the stream's very last line can lack its newline: elsewhere the next line would stick to it. */
static enum status take_raw(struct reading *reading, const struct line *line, struct error *err)
{
	buf_append_span(reading->raw, line->text);
	if (!(line->flags & LINE_OPEN_END) || reading->from + 1 < reading->total)
		buf_append_char(reading->raw, '\n');
	reading->from++;
	return buf_status(reading->raw, err);
}

/* The line that is next; where it does not fit the reading ends. */
static enum status take_line(struct reading *reading, int64_t ts_ms, const struct line *line, struct error *err)
{
	if (reading->raw)
		return take_raw(reading, line, err);
	if (reading->count && reading->bytes + line->text.len > reading->max_bytes) {
		reading->end = reading->from;
		return OK;
	}
	struct span text = arena_copy(reading->arena, line->text);
	if (!text.ptr)
		return error_no_memory(err);
	reading->lines[reading->count++] = (struct line_view){reading->from++, ts_ms, text, line->flags};
	reading->bytes += line->text.len;
	return OK;
}

static bool is_at_end(const struct reading *reading)
{
	return reading->from >= reading->end || (reading->raw && reading->raw->len >= RAW_BATCH_BYTES);
}

/* One line of ours stands for those that cannot be read: what is behind them still can. */
static enum status mark_gap(
	struct reading *reading, uint64_t next, const char *what, enum status status, struct error *err)
{
	if (!reading->raw || status == ERR_MEMORY || next <= reading->from)
		return status;
	next = next < reading->end ? next : reading->end;
	buf_printf(reading->raw, "[smfleet: lines %" PRIu64 " to %" PRIu64 " are %s]\n", reading->from, next - 1, what);
	reading->from = next;
	return buf_status(reading->raw, err);
}

/* What does not unpack is our damage, not a mistake of the one who asks. */
static enum status unpack_block(struct reading *reading, const struct block_row *row, struct buf *plain,
	struct arena *arena, struct line **lines, size_t *count, struct error *err)
{
	struct error cause;
	enum status status = block_unpack(row->data, reading->zstd, plain, arena, lines, count, &cause);

	if (status == OK)
		return OK;
	if (status == ERR_MEMORY)
		return error_no_memory(err);
	return error_set(
		err, ERR_IO, "the block at line %llu is damaged: %s", (unsigned long long)row->first_line, cause.text);
}

static enum status read_block(struct reading *reading, const struct block_row *row, struct error *err)
{
	AUTO(arena) arena = arena_new();
	AUTO_DONE(buf) plain = BUF_INIT(SIZE_MAX / 2);
	struct line *lines;
	size_t count;

	if (!arena)
		return error_no_memory(err);
	TRY(unpack_block(reading, row, &plain, arena, &lines, &count, err));
	for (size_t i = 0; i < count && reading->from < reading->end; i++)
		if (row->first_line + i == reading->from)
			TRY(take_line(reading, lines[i].ts_ms, &lines[i], err));
	return OK;
}

static enum status read_missing(
	struct reading *reading, const struct block_row *row, uint64_t sealed_lines, struct error *err)
{
	enum status status = explain_missing(reading->reader, reading->job_id, reading->stream_id, reading->from, err);

	return mark_gap(reading, row->line_count ? row->first_line : sealed_lines,
		status == ERR_GONE ? "deleted" : "damaged", status, err);
}

static enum status read_next_block(struct reading *reading, uint64_t sealed_lines, struct error *err)
{
	AUTO(arena) arena = arena_new();
	struct block_row row;
	uint64_t before = reading->from;

	if (!arena)
		return error_no_memory(err);
	TRY(store_read_block(reading->reader, arena, reading->job_id, reading->stream_id, before, &row, err));
	if (!row.line_count || row.first_line > before)
		return read_missing(reading, &row, sealed_lines, err);
	enum status status = read_block(reading, &row, err);
	if (status == OK && reading->from == before && reading->from < reading->end)
		status =
			error_set(err, ERR_IO, "the block at line %llu is damaged", (unsigned long long)row.first_line);
	return status == OK ? OK : mark_gap(reading, row.first_line + row.line_count, "damaged", status, err);
}

static enum status read_blocks(struct reading *reading, uint64_t sealed_lines, struct error *err)
{
	while (!is_at_end(reading) && reading->from < sealed_lines)
		TRY(read_next_block(reading, sealed_lines, err));
	return OK;
}

static enum status read_slice(struct reading *reading, const struct journal_slice *slice, struct error *err)
{
	struct journal_cursor cursor = journal_lines(slice);
	struct line line;

	for (uint64_t number = slice->first_line; journal_next_line(&cursor, &line); number++)
		if (number == reading->from && reading->from < reading->end)
			TRY(take_line(reading, line_effective_ms(&line, slice->arrival_ms), &line, err));
	return OK;
}

static enum status read_range(struct reading *reading, const struct tail_range *range, struct error *err)
{
	AUTO(arena) arena = arena_new();
	AUTO_DONE(buf) plain = BUF_INIT(SIZE_MAX / 2);
	AUTO_DONE(buf) text = BUF_INIT(SIZE_MAX / 2);
	struct journal_slice *slices;
	struct span record;
	size_t count;

	if (!arena)
		return error_no_memory(err);
	TRY(store_read_journal(reading->reader, arena, range->seq, &record, err));
	TRY(journal_unpack(record, reading->zstd, &plain, &slices, &count, arena, err));
	for (size_t i = 0; i < count; i++)
		if (slices[i].kind != JOURNAL_POINTS && slices[i].job_id == reading->job_id &&
			slices[i].stream_id == reading->stream_id && slices[i].first_line == range->first_line) {
			TRY(journal_open_slice(&slices[i], reading->zstd, &text, err));
			return read_slice(reading, &slices[i], err);
		}
	return error_set(err, ERR_IO, "journal row %llu does not hold line %llu", (unsigned long long)range->seq,
		(unsigned long long)range->first_line);
}

/* RAM's part, before the store is looked at: see view.c. */
static enum status copy_ranges(
	struct reading *reading, struct span job_name, struct span stream_name, struct error *err)
{
	struct job_state *job = directory_find(reading->pipeline->directory, job_name);
	struct stream_state *stream = job ? job_find_stream(job, stream_name) : NULL;
	enum status status = OK;

	if (stream) {
		pthread_mutex_lock(&stream->mutex);
		reading->total = stream->committed_line;
		reading->range_count = stream->range_count;
		reading->ranges = arena_alloc(reading->arena, stream->range_count * sizeof *reading->ranges);
		if (!reading->ranges)
			status = error_no_memory(err);
		else if (stream->range_count)
			memcpy(reading->ranges, stream->ranges, stream->range_count * sizeof *reading->ranges);
		pthread_mutex_unlock(&stream->mutex);
	}
	job_unref(job);
	return status;
}

/* Sealed lines, then the others. */
static enum status read_on(struct reading *reading, uint64_t sealed_lines, struct error *err)
{
	TRY(read_blocks(reading, sealed_lines, err));
	for (size_t i = 0; i < reading->range_count && !is_at_end(reading); i++) {
		const struct tail_range *range = &reading->ranges[i];
		uint64_t range_end = range->first_line + range->line_count;
		if (range_end <= reading->from)
			continue;
		enum status status = read_range(reading, range, err);
		if (status != OK || (reading->from < range_end && reading->from < reading->end))
			TRY(mark_gap(reading, range_end, "damaged", status, err));
	}
	return OK;
}

static enum status read_page(
	struct reading *reading, uint64_t sealed_lines, uint64_t from, size_t limit, struct error *err)
{
	if (from == UINT64_MAX)
		from = reading->total > limit ? reading->total - limit : 0;
	reading->from = from;
	reading->end = from > reading->total || reading->total - from < limit ? reading->total : from + limit;
	size_t wanted = reading->end > from ? (size_t)(reading->end - from) : 0;
	reading->lines = arena_alloc(reading->arena, wanted * sizeof *reading->lines);
	return reading->lines ? read_on(reading, sealed_lines, err) : error_no_memory(err);
}

static enum status find_stream(
	struct reading *reading, struct span job, struct span stream, uint64_t *sealed_lines, struct error *err)
{
	struct job_row job_row;
	struct stream_row *rows;
	size_t count;

	TRY(store_read_job(reading->reader, reading->arena, job, &job_row, err));
	TRY(store_read_streams(reading->reader, reading->arena, job_row.job_id, stream, &rows, &count, err));
	if (!count)
		return error_set_field(err, ERR_NOT_FOUND, "stream", "job '%.*s' has no stream '%.*s'", SPAN_ARGS(job),
			SPAN_ARGS(stream));
	reading->job_id = job_row.job_id;
	reading->stream_id = rows[0].stream_id;
	*sealed_lines = rows[0].sealed_lines;
	if (reading->total < *sealed_lines)
		reading->total = *sealed_lines;
	return OK;
}

enum status lines_read(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena, struct span job,
	struct span stream, uint64_t from, size_t limit, size_t max_bytes, struct line_view **out, size_t *count,
	uint64_t *total, struct error *err)
{
	AUTO(zstd) zstd = zstd_new();
	struct reading reading = {
		.pipeline = pipeline, .reader = reader, .arena = arena, .zstd = zstd, .max_bytes = max_bytes};
	uint64_t sealed_lines = 0;

	if (!zstd)
		return error_no_memory(err);
	TRY(copy_ranges(&reading, job, stream, err));
	TRY(store_reader_begin(reader, err));
	enum status status = find_stream(&reading, job, stream, &sealed_lines, err);
	if (status == OK)
		status = read_page(&reading, sealed_lines, from, limit, err);
	store_reader_end(reader);
	*out = reading.lines;
	*count = reading.count;
	*total = reading.total;
	return status;
}

enum status lines_read_time(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	struct span job, struct span stream, uint64_t number, int64_t *out, struct error *err)
{
	struct line_view *lines;
	size_t count;
	uint64_t total;

	*out = 0;
	enum status status =
		lines_read(pipeline, reader, arena, job, stream, number, 1, 1, &lines, &count, &total, err);
	if (status == OK && count)
		*out = lines[0].ts_ms;
	return status == ERR_GONE ? OK : status;
}

/* ---- the bytes as they came ---- */

static enum status open_raw(
	struct reading *reading, struct span job, struct span stream, struct raw_place *place, struct error *err)
{
	struct expired_text *notes;
	uint64_t sealed_lines;
	size_t count;

	TRY(find_stream(reading, job, stream, &sealed_lines, err));
	TRY(store_read_expired(
		reading->reader, reading->arena, reading->job_id, reading->stream_id, &notes, &count, err));
	place->job_id = reading->job_id;
	place->total = reading->total;
	place->end = place->end < reading->total ? place->end : reading->total;
	if (!count || place->next >= notes[0].first_kept_line)
		return OK;
	if (place->next < place->end && place->end <= notes[0].first_kept_line)
		return explain_missing(reading->reader, reading->job_id, reading->stream_id, place->next, err);
	place->next = notes[0].first_kept_line;
	return OK;
}

static enum status go_on_raw(
	struct reading *reading, struct span job, struct span stream, struct raw_place *place, struct error *err)
{
	uint64_t sealed_lines;

	TRY(find_stream(reading, job, stream, &sealed_lines, err));
	if (reading->job_id != place->job_id || reading->total < place->end)
		return error_set(err, ERR_GONE, "job '%.*s' was deleted while it was read", SPAN_ARGS(job));
	reading->total = place->total;
	reading->from = place->next;
	reading->end = place->end;
	TRY(read_on(reading, sealed_lines, err));
	if (reading->from == place->next && reading->from < reading->end)
		return error_set(err, ERR_IO, "line %" PRIu64 " is not where it should be: run `sm-server check`",
			reading->from);
	place->next = reading->from;
	return OK;
}

enum status lines_read_raw(struct pipeline *pipeline, struct store_reader *reader, struct span job, struct span stream,
	struct raw_place *place, struct buf *out, struct error *err)
{
	AUTO(zstd) zstd = zstd_new();
	AUTO(arena) arena = arena_new();
	struct reading reading = {.pipeline = pipeline, .reader = reader, .arena = arena, .zstd = zstd, .raw = out};

	if (!zstd || !arena)
		return error_no_memory(err);
	TRY(copy_ranges(&reading, job, stream, err));
	TRY(store_reader_begin(reader, err));
	enum status status =
		out ? go_on_raw(&reading, job, stream, place, err) : open_raw(&reading, job, stream, place, err);
	store_reader_end(reader);
	return status;
}
