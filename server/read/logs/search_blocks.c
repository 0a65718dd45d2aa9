#include "read/logs/search.h"

#include "base/clock.h"
#include "state/pipeline_state.h"
#include "store/pack/log_filter.h"

#include <stdlib.h>

enum {
	BATCH_FIRST = 2, /* blocks in flight: few at first, for quick first hits */
	SNAPSHOT_MS = 50,
};

/* ---- order ---- */

static int newest_first(const void *a, const void *b)
{
	const struct block_head *left = a, *right = b;

	return (left->last_ms < right->last_ms) - (left->last_ms > right->last_ms);
}

static int oldest_first(const void *a, const void *b)
{
	const struct block_head *left = a, *right = b;

	return (left->first_ms > right->first_ms) - (left->first_ms < right->first_ms);
}

static uint64_t tail_start_of(const struct walk *walk, uint32_t stream_id)
{
	const struct tail_stream *found = tail_find(&walk->tail, stream_id);

	return found ? found->start : UINT64_MAX;
}

/* ---- blocks ---- */

bool search_blocks_is_wanted(const struct walk *walk, const struct block_head *head)
{
	const struct log_search *search = walk->s->search;
	uint64_t first_line;

	if (!search_wants_stream(search, head->stream_id, &first_line) ||
		head->first_line + head->line_count <= first_line)
		return false;
	if (head->last_ms < search->from_ms || head->first_ms > search->to_ms ||
		head->first_line >= tail_start_of(walk, head->stream_id) ||
		(search->has_end_line && head->first_line >= search->end_line) ||
		head->first_line + head->line_count <= search->from_line)
		return false;
	if (search_wants_all(search) || !search->after)
		return true;
	return search->oldest_first ? head->last_ms >= search->after->ts_ms : head->first_ms <= search->after->ts_ms;
}

static int64_t bound_of(const struct walk *walk, const struct block_head *head)
{
	return walk->s->search->oldest_first ? head->first_ms : head->last_ms;
}

static bool is_enough(const struct walk *walk, size_t at)
{
	struct searching *s = walk->s;

	return !search_wants_all(s->search) && search_is_full_before(s, bound_of(walk, &walk->heads[at]));
}

/* Its lines need not be told apart. */
static bool is_counted_whole(const struct walk *walk, const struct block_head *head)
{
	const struct log_search *search = walk->s->search;
	const struct log_counter *counter = search->counter;

	if (!counter || !counter->take_block || head->first_ms < search->from_ms || head->last_ms > search->to_ms ||
		head->first_line + head->line_count > tail_start_of(walk, head->stream_id))
		return false;
	pthread_mutex_lock(&walk->s->mutex);
	bool is_taken =
		counter->take_block(counter->context, head->stream_id, head->first_ms, head->last_ms, head->line_count);
	pthread_mutex_unlock(&walk->s->mutex);
	return is_taken;
}

static enum status add_item(
	struct walk *walk, struct block_batch *batch, const struct block_head *head, struct error *err)
{
	struct store_reader *reader = walk->s->reader;
	struct block_row row;
	struct span filter;

	if (walk->needles) {
		TRY(store_read_log_filter(
			reader, batch->arena, walk->job_id, head->stream_id, head->first_line, &filter, err));
		if (!log_filter_may_hold(filter, walk->needles))
			return OK;
	}
	TRY(store_read_block(reader, batch->arena, walk->job_id, head->stream_id, head->first_line, &row, err));
	if (row.line_count && row.first_line == head->first_line)
		batch->items[batch->task.count++] = (struct batch_item){
			row.data, row.stream_id, row.first_line, tail_start_of(walk, row.stream_id)};
	return OK;
}

static enum status fill_batch(struct walk *walk, struct block_batch *batch, size_t most, struct error *err)
{
	int64_t until_ms = clock_mono_ms() + SNAPSHOT_MS;
	enum status status = OK;

	TRY(store_reader_begin(walk->s->reader, err));
	for (size_t *at = &walk->planned; status == OK && *at < walk->count && batch->task.count < most; (*at)++) {
		if (is_enough(walk, *at) || (*at > batch->from && clock_mono_ms() > until_ms))
			break;
		if (search_blocks_is_wanted(walk, &walk->heads[*at]) && !is_counted_whole(walk, &walk->heads[*at]))
			status = add_item(walk, batch, &walk->heads[*at], err);
	}
	store_reader_end(walk->s->reader);
	return status;
}

static enum status damaged(const struct batch_item *item, struct error *err)
{
	return error_set(err, ERR_IO, "the block at line %llu is damaged", (unsigned long long)item->first_line);
}

/* Some of its lines are not wanted, or they hold newlines: all are told apart. */
static enum status scan_part(struct walk *walk, struct search_hand *hand, const struct batch_item *item,
	struct block_cursor *cursor, struct error *err)
{
	AUTO_MEM struct line *lines = mem_alloc((cursor->count + 1) * sizeof *lines);

	if (!lines)
		return error_no_memory(err);
	if (!block_read_lines(cursor, lines))
		return damaged(item, err);
	search_scan_part(walk->s, hand, item->stream_id, item->first_line, lines, cursor->count, item->end);
	return OK;
}

/* Most lines that are read match nothing: only of the others times and ends are looked for. */
static enum status scan(struct walk *walk, struct search_hand *hand, const struct batch_item *item, struct error *err)
{
	uint64_t from_line;

	TRY(block_decompress(item->data, hand->zstd, &hand->plain, err));
	struct block_cursor cursor = block_lines(buf_span(&hand->plain));
	struct search_lines in = {.text = cursor.texts.rest, .first_line = item->first_line, .cursor = &cursor};
	if (!search_wants_stream(walk->s->search, item->stream_id, &from_line))
		return OK;
	if (cursor.newlines.left || from_line > item->first_line || item->first_line + cursor.count > item->end)
		return scan_part(walk, hand, item, &cursor, err);
	return search_scan_lines(walk->s, hand, item->stream_id, &in) ? OK : damaged(item, err);
}

static void scan_item(void *context, struct search_hand *hand, size_t index)
{
	struct block_batch *batch = context;
	struct walk *walk = batch->walk;
	struct searching *s = walk->s;
	struct error err = {0};
	enum status status = OK;

	search_effort_begin(&s->effort, hand);
	if (!search_effort_is_at_end(&s->effort))
		status = scan(walk, hand, &batch->items[index], &err);
	search_effort_end(&s->effort, hand, hand != &s->hand);
	if (status == OK)
		return;
	pthread_mutex_lock(&s->mutex);
	s->status = status;
	s->err = err;
	pthread_mutex_unlock(&s->mutex);
}

static enum status begin_batch(struct walk *walk, struct block_batch *batch, size_t most, struct error *err)
{
	arena_free(batch->arena);
	*batch = (struct block_batch){.walk = walk,
		.arena = arena_new(),
		.from = walk->planned,
		.task = {.work = scan_item, .context = batch}};
	if (!batch->arena)
		return error_no_memory(err);
	enum status status = fill_batch(walk, batch, most, err);
	if (status != OK) {
		batch->task.count = 0; /* nobody begins with it, nor works on it while another batch is waited for */
		return status;
	}
	batch->end = walk->planned;
	search_pool_begin(walk->s->pipeline->search_pool, &batch->task);
	return OK;
}

static void finish_batch(struct walk *walk, struct block_batch *batch, struct block_batch *then)
{
	if (batch->end > batch->from)
		search_pool_finish(walk->s->pipeline->search_pool, &walk->s->hand, &batch->task, &then->task);
}

struct log_place search_blocks_edge(const struct walk *walk, size_t at)
{
	int64_t bound = bound_of(walk, &walk->heads[at]);

	return walk->s->search->oldest_first ? (struct log_place){bound - (bound > INT64_MIN), UINT32_MAX, INT64_MAX}
					     : (struct log_place){bound + (bound < INT64_MAX), 0, 0};
}

bool search_blocks_have_gone_on(const struct walk *walk, size_t at)
{
	const struct searching *s = walk->s;
	struct log_place edge = search_blocks_edge(walk, at);

	return !s->search->after || search_place_precedes(s, s->search->after, &edge);
}

/* An empty one where nothing is left, or no time. */
static enum status begin_next(
	struct walk *walk, struct block_batch *batch, size_t most, int64_t until_ms, struct error *err)
{
	size_t at = walk->planned;

	batch->end = batch->from;
	if (at == walk->count || is_enough(walk, at) ||
		(clock_mono_ms() > until_ms && search_blocks_have_gone_on(walk, at)))
		return OK;
	return begin_batch(walk, batch, most, err);
}

static bool has_failed(struct searching *s)
{
	pthread_mutex_lock(&s->mutex);
	bool has = s->status != OK;
	pthread_mutex_unlock(&s->mutex);
	return has;
}

/* Where all is wanted the next batch is read while this one is looked through; else what is found here says whether there is one. */
static enum status walk_batches(struct walk *walk, int64_t until_ms, struct error *err)
{
	struct block_batch *batch = &walk->batches[0], *then = &walk->batches[1];
	bool is_ahead = search_wants_all(walk->s->search);
	size_t most = BATCH_FIRST;

	TRY(begin_next(walk, batch, most, until_ms, err));
	while (batch->end > batch->from) {
		most = most * 2 < SEARCH_BATCH_MAX ? most * 2 : SEARCH_BATCH_MAX;
		if (is_ahead)
			TRY(begin_next(walk, then, most, until_ms, err));
		finish_batch(walk, batch, then);
		if (search_effort_is_at_end(&walk->s->effort) || has_failed(walk->s))
			return OK; /* some of it was not looked at */
		walk->at = batch->end;
		if (!is_ahead)
			TRY(begin_next(walk, then, most, until_ms, err));
		struct block_batch *done = batch;
		batch = then;
		then = done;
	}
	return OK;
}

enum status search_blocks_walk(struct walk *walk, int64_t until_ms, bool *is_partial, struct error *err)
{
	struct searching *s = walk->s;

	if (walk->count)
		qsort(walk->heads, walk->count, sizeof *walk->heads,
			s->search->oldest_first ? oldest_first : newest_first);
	enum status status = walk_batches(walk, until_ms, err);
	for (size_t i = 0; i < 2; i++) {
		finish_batch(walk, &walk->batches[i], &walk->batches[1 - i]);
		arena_free(walk->batches[i].arena);
	}
	*is_partial = walk->at < walk->count && !is_enough(walk, walk->at);
	if (status == OK && s->status != OK && err)
		*err = s->err;
	return status != OK ? status : s->status;
}
