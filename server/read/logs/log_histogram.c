/* Lines over time: of the unsealed ones, and of blocks, nearly all out of what is known of them without their text. */
#include "read/logs/search.h"
#include "read/logs/tail.h"
#include "state/pipeline_state.h"
#include "state/streams/block_times.h"
#include "store/blocks.h"
#include "store/jobs.h"
#include "store/streams.h"

enum {
	SHARES = 64,
	STALE_TRIES = 20,
	FIRST_MS = 1000,
	OPENED_MAX = 32 /* blocks of a job; a mebibyte of text takes two milliseconds */
};
static const int64_t END_MS = (int64_t)1 << 56; /* beyond any time that is meant */

struct counting {
	struct histogram histogram;
	uint64_t total;
	uint64_t end; /* of the block that is being opened: lines from there on are counted as unsealed */
};

static int64_t clamp(int64_t ms)
{
	return ms > END_MS ? END_MS : ms < -END_MS ? -END_MS : ms;
}

static void count_block(struct counting *c, const struct block_head *head, uint64_t end)
{
	int64_t first_ms = clamp(head->first_ms), last_ms = clamp(head->last_ms);
	uint64_t count = head->line_count;

	if (head->first_line >= end)
		return;
	if (head->first_line + count > end)
		count = end - head->first_line;
	uint64_t shares = count < SHARES ? count : SHARES;
	int64_t width_ms = shares ? (last_ms - first_ms) / (int64_t)shares : 0;
	for (uint64_t i = 0; i < shares; i++)
		histogram_add(&c->histogram, first_ms + (int64_t)i * width_ms + width_ms / 2,
			count * (i + 1) / shares - count * i / shares);
	c->total += count;
}

static void count_line(void *context, uint64_t line, int64_t ts_ms)
{
	struct counting *c = context;

	if (line >= c->end)
		return;
	histogram_add(&c->histogram, clamp(ts_ms), 1);
	c->total++;
}

/* Within a block that is no wider than two bars it makes no difference where a line is. */
static int64_t wide_ms(const struct counting *c, const struct block_head *heads, size_t count)
{
	const struct histogram *unsealed = &c->histogram;
	int64_t first_ms = END_MS, last_ms = -END_MS;

	if (unsealed->count) {
		first_ms = unsealed->first * unsealed->width;
		last_ms = first_ms + (int64_t)unsealed->count * unsealed->width;
	}
	for (size_t i = 0; i < count; i++) {
		first_ms = clamp(heads[i].first_ms) < first_ms ? clamp(heads[i].first_ms) : first_ms;
		last_ms = clamp(heads[i].last_ms) > last_ms ? clamp(heads[i].last_ms) : last_ms;
	}
	return last_ms > first_ms ? 2 * ((last_ms - first_ms) / LOG_HISTOGRAM_BUCKETS) : 0;
}

static bool is_wide(const struct block_head *head, int64_t least_ms)
{
	return clamp(head->last_ms) - clamp(head->first_ms) > least_ms;
}

/* Of a damaged block what is known of it without its text has to do: the rest of the log has its bars. */
static enum status open_block(struct counting *c, struct store_reader *reader, const struct tail *tail, int64_t job_id,
	const struct block_head *head, struct error *err)
{
	enum status status = block_times_walk(reader, tail->zstd, job_id, head, count_line, c, err);

	if (status != ERR_INVALID && status != ERR_TOO_LARGE)
		return status;
	count_block(c, head, c->end);
	return OK;
}

/* Where few blocks are wide, as in the log of a quiet day, they are opened: a night without a line is seen. */
static enum status count_blocks(struct counting *c, struct store_reader *reader, const struct tail *tail,
	int64_t job_id, const struct block_head *heads, size_t count, struct error *err)
{
	int64_t least_ms = wide_ms(c, heads, count);
	size_t wide = 0;

	for (size_t i = 0; i < count; i++)
		wide += is_wide(&heads[i], least_ms);
	for (size_t i = 0; i < count; i++) {
		const struct tail_stream *stream = tail_find(tail, heads[i].stream_id);
		c->end = stream ? stream->start : UINT64_MAX;
		if (wide <= OPENED_MAX && is_wide(&heads[i], least_ms))
			TRY(open_block(c, reader, tail, job_id, &heads[i], err));
		else
			count_block(c, &heads[i], c->end);
	}
	return OK;
}

static enum status count_tail(void *context, const struct tail_stream *stream, uint64_t first_line,
	const struct line *lines, size_t count, struct error *err)
{
	struct counting *c = context;

	(void)err;
	for (size_t i = 0; i < count && first_line + i < stream->end; i++, c->total++)
		histogram_add(&c->histogram, lines[i].ts_ms, 1);
	return OK;
}

static enum status count_unsealed(struct tail *tail, struct error *err)
{
	for (int tries = 0; tries < STALE_TRIES; tries++) {
		*(struct counting *)tail->context =
			(struct counting){.histogram = {.width = FIRST_MS, .most = LOG_HISTOGRAM_BUCKETS}};
		tail_done(tail);
		TRY(tail_walk(tail, err));
		if (!tail->is_stale)
			return OK;
	}
	return error_set(err, ERR_UNAVAILABLE, "the log's newest lines move faster than they can be read; try again");
}

static enum status count_sealed(struct counting *c, struct store_reader *reader, struct arena *arena,
	const struct tail *tail, struct error *err)
{
	struct block_head *heads;
	struct stream_row *rows;
	struct job_row job;
	size_t count;

	TRY(store_read_job(reader, arena, tail->job, &job, err));
	TRY(store_read_streams(reader, arena, job.job_id, tail->stream, &rows, &count, err));
	if (tail->stream.len && !count)
		return error_set_field(err, ERR_NOT_FOUND, "stream", "job '%.*s' has no stream '%.*s'",
			SPAN_ARGS(tail->job), SPAN_ARGS(tail->stream));
	TRY(store_read_block_heads(
		reader, arena, job.job_id, tail->stream.len ? rows[0].stream_id : 0, &heads, &count, err));
	return count_blocks(c, reader, tail, job.job_id, heads, count, err);
}

enum status log_search_count(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	struct span job, struct span stream, struct log_histogram *out, struct error *err)
{
	AUTO(zstd) zstd = zstd_new();
	AUTO_MEM struct counting *c = mem_zeroed(sizeof *c);
	struct tail tail = {.pipeline = pipeline,
		.reader = reader,
		.zstd = zstd,
		.job = job,
		.stream = stream,
		.until_ms = INT64_MAX,
		.take = count_tail,
		.context = c};

	if (!zstd || !c)
		return error_no_memory(err);
	enum status status = count_unsealed(&tail, err);
	if (status == OK)
		status = count_sealed(c, reader, arena, &tail, err);
	tail_done(&tail);
	TRY(status);
	*out = (struct log_histogram){.count = c->histogram.count, .width_ms = c->histogram.width, .total = c->total};
	for (size_t i = 0; i < out->count; i++)
		out->buckets[i] =
			(struct log_bucket){(c->histogram.first + (int64_t)i) * out->width_ms, c->histogram.counts[i]};
	return OK;
}
