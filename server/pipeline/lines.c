/* Stored lines by number: sealed ones from blocks, the rest from the journal rows that the directory names. */
#include "pipeline/internal.h"

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
	struct line_view *lines;
	size_t count;
};

static enum status out_of_memory(struct error *err)
{
	return error_set(err, ERR_MEMORY, "out of memory");
}

static enum status take_line(
	struct reading *reading, uint64_t number, int64_t ts_ms, const struct line *line, struct error *err)
{
	struct span text = arena_copy(reading->arena, line->text);

	if (!text.ptr)
		return out_of_memory(err);
	reading->lines[reading->count++] = (struct line_view){number, ts_ms, text, line->flags};
	return OK;
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
		return out_of_memory(err);
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
		return out_of_memory(err);
	TRY(unpack_block(reading, row, &plain, arena, &lines, &count, err));
	for (size_t i = 0; i < count && reading->from < reading->end; i++)
		if (row->first_line + i == reading->from)
			TRY(take_line(reading, reading->from++, lines[i].ts_ms, &lines[i], err));
	return OK;
}

static enum status read_blocks(struct reading *reading, uint64_t sealed_lines, struct error *err)
{
	while (reading->from < reading->end && reading->from < sealed_lines) {
		AUTO(arena) arena = arena_new();
		struct block_row row;
		uint64_t before = reading->from;
		if (!arena)
			return out_of_memory(err);
		TRY(store_read_block(
			reading->reader, arena, reading->job_id, reading->stream_id, reading->from, &row, err));
		if (!row.line_count || row.first_line > reading->from)
			return line_missing(reading->reader, reading->job_id, reading->stream_id, reading->from, err);
		TRY(read_block(reading, &row, err));
		if (reading->from == before)
			return error_set(
				err, ERR_IO, "the block at line %llu is damaged", (unsigned long long)row.first_line);
	}
	return OK;
}

static enum status read_slice(struct reading *reading, const struct journal_slice *slice, struct error *err)
{
	struct journal_cursor cursor = journal_lines(slice);
	struct line line;

	for (uint64_t number = slice->first_line; journal_next_line(&cursor, &line); number++)
		if (number == reading->from && reading->from < reading->end) {
			TRY(take_line(reading, number, line_effective_ms(&line, slice->arrival_ms), &line, err));
			reading->from++;
		}
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
		return out_of_memory(err);
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
			status = out_of_memory(err);
		else if (stream->range_count)
			memcpy(reading->ranges, stream->ranges, stream->range_count * sizeof *reading->ranges);
		pthread_mutex_unlock(&stream->mutex);
	}
	job_unref(job);
	return status;
}

static enum status read_all(
	struct reading *reading, const struct stream_row *row, uint64_t from, size_t limit, struct error *err)
{
	if (row->sealed_lines > reading->total)
		reading->total = row->sealed_lines;
	if (from == UINT64_MAX)
		from = reading->total > limit ? reading->total - limit : 0;
	reading->from = from;
	reading->end = from > reading->total || reading->total - from < limit ? reading->total : from + limit;
	reading->stream_id = row->stream_id;
	size_t wanted = reading->end > from ? (size_t)(reading->end - from) : 0;
	reading->lines = arena_alloc(reading->arena, wanted * sizeof *reading->lines);
	if (!reading->lines)
		return out_of_memory(err);
	TRY(read_blocks(reading, row->sealed_lines, err));
	for (size_t i = 0; i < reading->range_count && reading->from < reading->end; i++)
		if (reading->ranges[i].first_line + reading->ranges[i].line_count > reading->from)
			TRY(read_range(reading, &reading->ranges[i], err));
	return OK;
}

static enum status read_in_snapshot(
	struct reading *reading, struct span job, struct span stream, uint64_t from, size_t limit, struct error *err)
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
	return read_all(reading, &rows[0], from, limit, err);
}

enum status pipeline_read_lines(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	struct span job, struct span stream, uint64_t from, size_t limit, struct line_view **out, size_t *count,
	uint64_t *total, struct error *err)
{
	AUTO(zstd) zstd = zstd_new();
	struct reading reading = {.pipeline = pipeline, .reader = reader, .arena = arena, .zstd = zstd};

	if (!zstd)
		return out_of_memory(err);
	TRY(copy_ranges(&reading, job, stream, err));
	TRY(store_reader_begin(reader, err));
	enum status status = read_in_snapshot(&reading, job, stream, from, limit, err);
	store_reader_end(reader);
	*out = reading.lines;
	*count = reading.count;
	*total = reading.total;
	return status;
}
