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

enum { STALE_TRIES = 20, BLOCKS_READ_MAX = 256 };

struct looking {
	const struct first_line_range *range;
	struct store_reader *reader;
	struct arena *arena;
	struct zstd *zstd;
	int64_t job_id;
	struct stream_row *streams;
	size_t stream_count;
	int64_t found_ms;
};

static bool is_wanted(const struct looking *looking, uint32_t stream_id)
{
	for (size_t i = 0; i < looking->stream_count; i++)
		if (looking->streams[i].stream_id == stream_id)
			for (size_t j = 0; j < looking->range->stream_count; j++)
				if (span_equal(looking->range->streams[j], looking->streams[i].name))
					return true;
	return false;
}

static bool is_within(const struct looking *looking, int64_t ts_ms)
{
	return ts_ms > looking->range->after_ms && ts_ms <= looking->range->to_ms;
}

static void see(struct looking *looking, int64_t ts_ms)
{
	if (is_within(looking, ts_ms) && ts_ms < looking->found_ms)
		looking->found_ms = ts_ms;
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
		.job = looking->range->job,
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

static enum status look_in_blocks(struct looking *looking, struct error *err)
{
	struct block_head *heads;
	size_t count;

	TRY(store_read_block_heads(looking->reader, looking->arena, looking->job_id, 0, &heads, &count, err));
	for (size_t i = 0; i < count; i++)
		if (is_wanted(looking, heads[i].stream_id))
			see(looking, heads[i].first_ms);
	for (size_t i = count, read = 0; i-- > 0 && read < BLOCKS_READ_MAX;) {
		bool begins_before = heads[i].first_ms <= looking->range->after_ms;
		if (!begins_before || heads[i].last_ms <= looking->range->after_ms ||
			!is_wanted(looking, heads[i].stream_id))
			continue;
		TRY(look_in_block(looking, &heads[i], err));
		read++;
	}
	return OK;
}

enum status first_line_find(struct pipeline *pipeline, struct store_reader *reader,
	const struct first_line_range *range, int64_t *found_ms, struct error *err)
{
	AUTO(arena) arena = arena_new();
	AUTO(zstd) zstd = zstd_new();
	struct looking looking = {
		.range = range, .reader = reader, .arena = arena, .zstd = zstd, .found_ms = *found_ms};
	struct job_row job;

	if (!arena || !zstd)
		return error_no_memory(err);
	TRY(store_read_job(reader, arena, range->job, &job, err));
	looking.job_id = job.job_id;
	TRY(store_read_streams(reader, arena, job.job_id, SPAN(""), &looking.streams, &looking.stream_count, err));
	TRY(look_in_tail(&looking, pipeline, err));
	TRY(look_in_blocks(&looking, err));
	*found_ms = looking.found_ms;
	return OK;
}
