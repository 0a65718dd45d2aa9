/*
 * The blocks' times say for every block which places it may hold. Blocks are opened in the order of these places, until all
 * that is asked for comes before what is not opened yet: of each stream only those around the place. Unsealed lines are
 * walked once. No snapshot is held: a block is what it is, and lines move from the journal to blocks only: heads of blocks
 * are read before the journal, and again when a stream's unsealed lines do not follow on them.
 */
#include "read/logs/merge.h"

#include "read/logs/lines.h"
#include "read/logs/tail.h"
#include "state/pipeline_state.h"
#include "store/blocks.h"
#include "store/jobs.h"
#include "store/retention.h"
#include "store/streams.h"

#include <stdlib.h>

enum { STALE_TRIES = 20 };

struct kept { /* text behind it */
	struct log_place place;
	struct line_view line;
};

struct source { /* one stream */
	struct stream_row row;
	size_t first_head, head_count;
	uint64_t kept_from; /* lines below were deleted */
	bool has_tail;
	int64_t tail_ms; /* monotone time of the last unsealed line that was walked */
};

struct candidate { /* a block, and its first and last possible place */
	const struct block_head *head;
	struct source *source;
	int64_t before_ms; /* monotone time in front of it */
	struct log_place first, last;
};

struct merging {
	const struct merge *merge;
	struct pipeline *pipeline;
	struct store_reader *reader;
	struct arena *arena; /* of one try */
	struct zstd *zstd;
	struct source *sources; /* by stream */
	size_t source_count;
	struct block_head *heads;
	size_t head_count;
	struct candidate *blocks;
	size_t block_count;
	struct tail tail;
	struct kept **heap; /* the best ones; the worst of these at the root */
	size_t kept_count, bytes;
	bool has_fence; /* something was too much: from there on nothing is kept */
	struct log_place fence;
};

static bool is_less(const struct log_place *a, const struct log_place *b)
{
	if (a->ts_ms != b->ts_ms)
		return a->ts_ms < b->ts_ms;
	return a->stream_id != b->stream_id ? a->stream_id < b->stream_id : a->line < b->line;
}

static bool precedes(const struct merging *m, const struct log_place *a, const struct log_place *b)
{
	return m->merge->is_backward ? is_less(b, a) : is_less(a, b);
}

/* ---- the best lines ---- */

static void swap(struct merging *m, size_t a, size_t b)
{
	struct kept *kept = m->heap[a];

	m->heap[a] = m->heap[b];
	m->heap[b] = kept;
}

static bool is_worse(const struct merging *m, size_t a, size_t b)
{
	return precedes(m, &m->heap[b]->place, &m->heap[a]->place);
}

static void sift_up(struct merging *m, size_t at)
{
	for (; at && is_worse(m, at, (at - 1) / 2); at = (at - 1) / 2)
		swap(m, at, (at - 1) / 2);
}

static void sift_down(struct merging *m)
{
	for (size_t at = 0, child; (child = 2 * at + 1) < m->kept_count; at = child) {
		if (child + 1 < m->kept_count && is_worse(m, child + 1, child))
			child++;
		if (!is_worse(m, child, at))
			return;
		swap(m, child, at);
	}
}

static struct kept *pop_worst(struct merging *m)
{
	struct kept *worst = m->heap[0];

	m->heap[0] = m->heap[--m->kept_count];
	m->bytes -= worst->line.text.len;
	sift_down(m);
	return worst;
}

static bool is_wanted(const struct merging *m, const struct log_place *place)
{
	return (!m->merge->after || precedes(m, m->merge->after, place)) &&
	       (!m->has_fence || precedes(m, place, &m->fence));
}

static enum status offer(struct merging *m, const struct log_place *place, const struct line *line, struct error *err)
{
	if (!is_wanted(m, place))
		return OK;
	struct kept *kept = mem_alloc(sizeof *kept + line->text.len);
	if (!kept)
		return error_no_memory(err);
	if (line->text.len)
		memcpy(kept + 1, line->text.ptr, line->text.len);
	*kept = (struct kept){
		*place, {place->line, line->ts_ms, span_of((const char *)(kept + 1), line->text.len), line->flags}};
	m->heap[m->kept_count++] = kept;
	m->bytes += line->text.len;
	sift_up(m, m->kept_count - 1);
	while (m->kept_count > m->merge->limit || (m->kept_count > 1 && m->bytes > m->merge->max_bytes)) {
		struct kept *worst = pop_worst(m);
		m->fence = worst->place;
		m->has_fence = true;
		mem_free(worst);
	}
	return OK;
}

static void forget(struct merging *m)
{
	while (m->kept_count)
		mem_free(m->heap[--m->kept_count]);
	m->bytes = 0;
	m->has_fence = false;
	tail_done(&m->tail);
}

/* ---- streams and heads ---- */

static int compare_source(const void *id, const void *source)
{
	uint32_t left = *(const uint32_t *)id, right = ((const struct source *)source)->row.stream_id;

	return (left > right) - (left < right);
}

static struct source *find_source(const struct merging *m, uint32_t stream_id)
{
	return m->source_count ? bsearch(&stream_id, m->sources, m->source_count, sizeof *m->sources, compare_source)
			       : NULL;
}

/* rows[0 .. *count - 1] become those that are asked for. */
static enum status choose_streams(const struct merge *merge, struct stream_row *rows, size_t *count, struct error *err)
{
	size_t kept = 0;

	if (!merge->stream_count)
		return OK;
	for (size_t i = 0; i < merge->stream_count; i++) {
		size_t at = 0;
		while (at < *count && !span_equal(rows[at].name, merge->streams[i]))
			at++;
		if (at == *count)
			return error_set_field(err, ERR_NOT_FOUND, "streams", "job '%.*s' has no stream '%.*s'",
				SPAN_ARGS(merge->job), SPAN_ARGS(merge->streams[i]));
	}
	for (size_t at = 0; at < *count; at++)
		for (size_t i = 0; i < merge->stream_count; i++)
			if (span_equal(rows[at].name, merge->streams[i])) {
				rows[kept++] = rows[at];
				break;
			}
	*count = kept;
	return OK;
}

static enum status read_sources(struct merging *m, struct error *err)
{
	struct expired_text *notes;
	struct stream_row *rows;
	struct job_row job;
	size_t note_count;

	TRY(store_read_job(m->reader, m->arena, m->merge->job, &job, err));
	TRY(store_read_streams(m->reader, m->arena, job.job_id, m->merge->stream, &rows, &m->source_count, err));
	if (m->merge->stream.len && !m->source_count)
		return error_set_field(err, ERR_NOT_FOUND, "stream", "job '%.*s' has no stream '%.*s'",
			SPAN_ARGS(m->merge->job), SPAN_ARGS(m->merge->stream));
	TRY(choose_streams(m->merge, rows, &m->source_count, err));
	uint32_t only = m->merge->stream.len ? rows[0].stream_id : 0;
	TRY(store_read_block_heads(m->reader, m->arena, job.job_id, only, &m->heads, &m->head_count, err));
	TRY(store_read_expired(m->reader, m->arena, job.job_id, only, &notes, &note_count, err));
	m->sources = arena_alloc(m->arena, m->source_count * sizeof *m->sources);
	if (!m->sources)
		return error_no_memory(err);
	for (size_t i = 0, head = 0; i < m->source_count; i++) {
		struct source *source = &m->sources[i];
		*source = (struct source){.row = rows[i], .tail_ms = INT64_MIN};
		while (head < m->head_count && m->heads[head].stream_id < rows[i].stream_id)
			head++;
		source->first_head = head;
		while (head < m->head_count && m->heads[head].stream_id == rows[i].stream_id)
			head++;
		source->head_count = head - source->first_head;
	}
	for (size_t i = 0; i < note_count; i++) {
		struct source *source = find_source(m, notes[i].stream_id);
		if (source)
			source->kept_from = notes[i].first_kept_line;
	}
	return OK;
}

/* Content of the block, and a cursor on its lines. ERR_GONE: it was deleted meanwhile. */
static enum status open_block(struct merging *m, const struct source *source, const struct block_head *head,
	struct buf *plain, struct block_cursor *cursor, struct error *err)
{
	AUTO(arena) arena = arena_new();
	struct block_row row;
	struct error cause;

	if (!arena)
		return error_no_memory(err);
	TRY(store_read_block(m->reader, arena, source->row.job_id, head->stream_id, head->first_line, &row, err));
	if (!row.line_count || row.first_line != head->first_line)
		return error_set(err, ERR_GONE, "line %llu was deleted", (unsigned long long)head->first_line);
	enum status status = block_decompress(row.data, m->zstd, plain, &cause);
	if (status == ERR_MEMORY)
		return error_no_memory(err);
	if (status != OK)
		return error_set(err, ERR_IO, "the block at line %llu of stream '%.*s' is damaged: %s",
			(unsigned long long)head->first_line, SPAN_ARGS(source->row.name), cause.text);
	*cursor = block_lines(buf_span(plain));
	return OK;
}

/* A block that reaches into the unsealed lines ends where these start: they are walked on their own. */
static enum status cut_head(
	struct merging *m, const struct source *source, struct block_head *head, uint64_t start, struct error *err)
{
	AUTO_DONE(buf) plain = BUF_INIT(SIZE_MAX / 2);
	struct block_cursor cursor;
	struct line line;

	TRY(open_block(m, source, head, &plain, &cursor, err));
	head->line_count = start - head->first_line;
	head->last_ms = INT64_MIN;
	for (uint64_t i = 0; i < head->line_count && block_next_line(&cursor, &line); i++)
		head->last_ms = line.ts_ms > head->last_ms ? line.ts_ms : head->last_ms;
	return OK;
}

/* ---- unsealed lines ---- */

static enum status begin_tail(struct merging *m, struct source *source, uint64_t start, struct error *err)
{
	source->has_tail = true;
	for (size_t i = 0; i < source->head_count; i++) {
		struct block_head *head = &m->heads[source->first_head + i];
		if (head->first_line >= start) {
			source->head_count = i;
			break;
		}
		if (head->first_line + head->line_count > start)
			TRY(cut_head(m, source, head, start, err));
		source->tail_ms = head->last_ms > source->tail_ms ? head->last_ms : source->tail_ms;
	}
	return OK;
}

static enum status take_tail(void *context, const struct tail_stream *stream, uint64_t first_line,
	const struct line *lines, size_t count, struct error *err)
{
	struct merging *m = context;
	struct source *source = find_source(m, stream->stream_id);

	if (!source)
		return OK; /* it began after the streams were read */
	if (!source->has_tail)
		TRY(begin_tail(m, source, stream->start, err));
	for (size_t i = 0; i < count; i++) {
		source->tail_ms = lines[i].ts_ms > source->tail_ms ? lines[i].ts_ms : source->tail_ms;
		struct log_place place = {source->tail_ms, stream->stream_id, first_line + i};
		TRY(offer(m, &place, &lines[i], err));
	}
	return OK;
}

/* Does what is unsealed follow on the blocks that are known? */
static bool is_gapless(const struct merging *m)
{
	for (size_t i = 0; i < m->source_count; i++) {
		const struct source *source = &m->sources[i];
		const struct tail_stream *stream = tail_find(&m->tail, source->row.stream_id);
		const struct block_head *last =
			source->head_count ? &m->heads[source->first_head + source->head_count - 1] : NULL;
		uint64_t end = last ? last->first_line + last->line_count : 0;
		end = end > source->kept_from ? end : source->kept_from;
		if (stream && end < stream->start)
			return false;
	}
	return true;
}

/* ---- blocks ---- */

static bool may_hold(const struct merging *m, const struct candidate *block)
{
	const struct log_place *far = m->merge->is_backward ? &block->first : &block->last;

	return !m->merge->after || precedes(m, m->merge->after, far);
}

static void plan_source(struct merging *m, struct source *source)
{
	int64_t before_ms = INT64_MIN;

	for (size_t i = 0; i < source->head_count; i++) {
		const struct block_head *head = &m->heads[source->first_head + i];
		int64_t first_ms = head->first_ms > before_ms ? head->first_ms : before_ms;
		int64_t last_ms = head->last_ms > before_ms ? head->last_ms : before_ms;
		struct candidate block = {head, source, before_ms, {first_ms, head->stream_id, head->first_line},
			{last_ms, head->stream_id, head->first_line + head->line_count - 1}};
		if (may_hold(m, &block))
			m->blocks[m->block_count++] = block;
		before_ms = last_ms;
	}
}

static int by_first(const void *a, const void *b)
{
	const struct log_place *left = &((const struct candidate *)a)->first;
	const struct log_place *right = &((const struct candidate *)b)->first;

	return is_less(right, left) - is_less(left, right);
}

static int by_last_backward(const void *a, const void *b)
{
	const struct log_place *left = &((const struct candidate *)a)->last;
	const struct log_place *right = &((const struct candidate *)b)->last;

	return is_less(left, right) - is_less(right, left);
}

static enum status take_block(struct merging *m, const struct candidate *block, struct error *err)
{
	AUTO_DONE(buf) plain = BUF_INIT(SIZE_MAX / 2);
	struct log_place place = block->first;
	struct block_cursor cursor;
	struct line line;

	enum status status = open_block(m, block->source, block->head, &plain, &cursor, err);
	if (status == ERR_GONE)
		return OK;
	TRY(status);
	place.ts_ms = block->before_ms;
	for (uint64_t i = 0; i < block->head->line_count && block_next_line(&cursor, &line); i++, place.line++) {
		place.ts_ms = line.ts_ms > place.ts_ms ? line.ts_ms : place.ts_ms;
		TRY(offer(m, &place, &line, err));
	}
	return OK;
}

static enum status take_blocks(struct merging *m, struct error *err)
{
	m->blocks = arena_alloc(m->arena, m->head_count * sizeof *m->blocks);
	m->block_count = 0;
	if (!m->blocks)
		return error_no_memory(err);
	for (size_t i = 0; i < m->source_count; i++)
		plan_source(m, &m->sources[i]);
	if (m->block_count)
		qsort(m->blocks, m->block_count, sizeof *m->blocks,
			m->merge->is_backward ? by_last_backward : by_first);
	for (size_t i = 0; i < m->block_count; i++) {
		const struct candidate *block = &m->blocks[i];
		if (m->has_fence && !precedes(m, m->merge->is_backward ? &block->last : &block->first, &m->fence))
			return OK;
		TRY(take_block(m, block, err));
	}
	return OK;
}

/* ---- the whole ---- */

static enum status walk_tail(struct merging *m, struct error *err)
{
	m->tail = (struct tail){.pipeline = m->pipeline,
		.reader = m->reader,
		.zstd = m->zstd,
		.job = m->merge->job,
		.stream = m->merge->stream,
		.until_ms = INT64_MAX,
		.take = take_tail,
		.context = m};
	return tail_walk(&m->tail, err);
}

static enum status hand_out(
	struct merging *m, struct arena *arena, struct merged_line **out, size_t *count, struct error *err)
{
	*count = m->kept_count;
	*out = arena_alloc(arena, *count * sizeof **out);
	if (!*out)
		return error_no_memory(err);
	for (size_t i = 0, left = *count; i < *count; i++) {
		AUTO_MEM struct kept *kept = pop_worst(m);
		struct merged_line *line = &(*out)[m->merge->is_backward ? i : --left];
		struct span name = find_source(m, kept->place.stream_id)->row.name;
		*line = (struct merged_line){kept->place, arena_copy(arena, name), kept->line};
		line->line.text = arena_copy(arena, kept->line.text);
		if (!line->stream.ptr || !line->line.text.ptr)
			return error_no_memory(err);
	}
	return OK;
}

/* Streams and lines that damage took from the journal leave a gap for ever: the last try takes what there is. */
static enum status try_merge(struct merging *m, bool is_last, struct arena *arena, struct merged_line **out,
	size_t *count, bool *is_done, struct error *err)
{
	AUTO(arena) own = arena_new();

	forget(m);
	m->arena = own;
	if (!own)
		return error_no_memory(err);
	TRY(read_sources(m, err));
	TRY(walk_tail(m, err));
	*is_done = !m->tail.is_stale && (is_last || is_gapless(m));
	if (!*is_done)
		return OK;
	TRY(take_blocks(m, err));
	return hand_out(m, arena, out, count, err);
}

enum status merge_read_lines(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	const struct merge *merge, struct merged_line **out, size_t *count, bool *has_more, struct error *err)
{
	AUTO(zstd) zstd = zstd_new();
	AUTO_MEM struct kept **heap = mem_alloc((merge->limit + 1) * sizeof *heap);
	struct merging m = {.merge = merge, .pipeline = pipeline, .reader = reader, .zstd = zstd, .heap = heap};
	enum status status = OK;
	bool is_done = false;

	*count = 0;
	if (!zstd || !heap)
		return error_no_memory(err);
	for (int tries = 0; status == OK && !is_done && tries < STALE_TRIES; tries++)
		status = try_merge(&m, tries == STALE_TRIES - 1, arena, out, count, &is_done, err);
	*has_more = m.has_fence;
	forget(&m);
	if (status == OK && !is_done)
		return error_set(
			err, ERR_UNAVAILABLE, "the log's newest lines move faster than they can be read; try again");
	return status;
}
