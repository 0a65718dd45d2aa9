/*
 * A block knows the smallest time of its lines: if that is in the range, it is the block's answer, and nothing is opened. Only a block that
 * begins in front of the range is read. Lines move from the journal to blocks, so the journal is read first.
 */
#include "read/logs/first_line.h"

#include "base/arena.h"
#include "base/buf.h"
#include "read/logs/tail.h"
#include "store/blocks.h"
#include "store/jobs.h"
#include "store/pack/block.h"
#include "store/streams.h"

#include <stdlib.h>

enum { STALE_TRIES = 20, BLOCKS_READ_MAX = 256 };

struct looking {
	struct first_line_search *search;
	struct store_reader *reader;
	struct arena *arena;
	struct zstd *zstd;
	int64_t job_id;
	struct stream_row *streams; /* that are asked, by stream_id */
	size_t stream_count;
};

static bool is_named(const struct first_line_search *search, struct span stream)
{
	for (size_t i = 0; i < search->stream_count; i++)
		if (span_equal(search->streams[i], stream))
			return true;
	return false;
}

static enum status read_streams(struct looking *looking, struct error *err)
{
	size_t count;

	TRY(store_read_streams(
		looking->reader, looking->arena, looking->job_id, SPAN(""), &looking->streams, &count, err));
	for (size_t i = 0; i < count; i++)
		if (is_named(looking->search, looking->streams[i].name))
			looking->streams[looking->stream_count++] = looking->streams[i];
	return OK;
}

static int by_id(const void *id, const void *row)
{
	uint32_t wanted = *(const uint32_t *)id, own = ((const struct stream_row *)row)->stream_id;

	return (wanted > own) - (wanted < own);
}

static bool is_wanted(const struct looking *looking, uint32_t stream_id)
{
	return looking->stream_count &&
	       bsearch(&stream_id, looking->streams, looking->stream_count, sizeof *looking->streams, by_id);
}

static void see(struct looking *looking, int64_t ts_ms)
{
	for (size_t i = 0; i < looking->search->range_count; i++) {
		struct first_line_range *range = &looking->search->ranges[i];
		if (ts_ms > range->after_ms && ts_ms <= range->to_ms && ts_ms < range->found_ms)
			range->found_ms = ts_ms;
	}
}

static enum status take_tail(void *context, const struct tail_stream *stream, uint64_t first_line,
	const struct line *lines, size_t count, struct error *err)
{
	struct looking *looking = context;

	(void)first_line;
	(void)err;
	if (is_wanted(looking, stream->stream_id))
		for (size_t i = 0; i < count; i++)
			see(looking, lines[i].ts_ms);
	return OK;
}

static enum status look_in_tail(struct looking *looking, struct pipeline *pipeline, struct error *err)
{
	struct tail tail = {.pipeline = pipeline,
		.reader = looking->reader,
		.zstd = looking->zstd,
		.job = looking->search->job,
		.stream = SPAN(""),
		.until_ms = INT64_MAX,
		.take = take_tail,
		.context = looking};

	enum status status = OK;

	tail.is_stale = true;
	for (int tries = 0; status == OK && tail.is_stale && tries < STALE_TRIES; tries++)
		status = tail_walk(&tail, err);
	tail_done(&tail);
	if (status != OK || !tail.is_stale)
		return status;
	return error_set(err, ERR_UNAVAILABLE, "the log's newest lines move faster than they can be read; try again");
}

static enum status look_in_block(struct looking *looking, const struct block_head *head, struct error *err)
{
	AUTO_DONE(buf) plain = BUF_INIT(SIZE_MAX / 2);
	AUTO(arena) arena = arena_new();
	struct block_row row;
	struct line line;

	if (!arena)
		return error_no_memory(err);
	TRY(store_read_block(looking->reader, arena, looking->job_id, head->stream_id, head->first_line, &row, err));
	if (!row.line_count || row.first_line != head->first_line)
		return OK; /* deleted meanwhile */
	TRY(block_decompress(row.data, looking->zstd, &plain, err));
	struct block_cursor cursor = block_lines(buf_span(&plain));
	while (block_next_line(&cursor, &line))
		see(looking, line.ts_ms);
	return OK;
}

/* It begins in front of a range, and goes on in it. */
static bool is_asked(struct looking *looking, const struct block_head *head)
{
	bool is_any = false;

	for (size_t i = 0; i < looking->search->range_count; i++) {
		struct first_line_range *range = &looking->search->ranges[i];
		if (head->first_ms > range->after_ms || head->last_ms <= range->after_ms ||
			range->blocks_read == BLOCKS_READ_MAX)
			continue;
		range->blocks_read++;
		is_any = true;
	}
	return is_any;
}

static enum status look_in_blocks(struct looking *looking, struct error *err)
{
	struct block_head *heads;
	size_t count;

	TRY(store_read_block_heads(looking->reader, looking->arena, looking->job_id, 0, &heads, &count, err));
	for (size_t i = 0; i < count; i++)
		if (is_wanted(looking, heads[i].stream_id))
			see(looking, heads[i].first_ms);
	for (size_t i = count; i-- > 0;)
		if (is_wanted(looking, heads[i].stream_id) && is_asked(looking, &heads[i]))
			TRY(look_in_block(looking, &heads[i], err));
	return OK;
}

enum status first_line_find(
	struct pipeline *pipeline, struct store_reader *reader, struct first_line_search *search, struct error *err)
{
	AUTO(arena) arena = arena_new();
	AUTO(zstd) zstd = zstd_new();
	struct looking looking = {.search = search, .reader = reader, .arena = arena, .zstd = zstd};
	struct job_row job;

	if (!arena || !zstd)
		return error_no_memory(err);
	TRY(store_read_job(reader, arena, search->job, &job, err));
	looking.job_id = job.job_id;
	TRY(read_streams(&looking, err));
	TRY(look_in_tail(&looking, pipeline, err));
	return look_in_blocks(&looking, err);
}
