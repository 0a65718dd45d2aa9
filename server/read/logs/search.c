/*
 * A search: first the unsealed lines, as RAM knows them, then the blocks below these, in the order of their times. What the
 * sealer moves between the two is below a stream's tail_start in neither and both cases counted once: blocks give only
 * lines below it, the journal only lines from it on; a journal row that is gone meanwhile starts everything again.
 */
#include "read/logs/search.h"

#include "base/clock.h"
#include "read/logs/search_pool.h"
#include "read/logs/tail.h"
#include "state/pipeline_state.h"
#include "store/blocks.h"
#include "store/jobs.h"
#include "store/pack/log_filter.h"
#include "store/streams.h"

#include <stdlib.h>

enum {
	BATCH_FIRST = 2, /* blocks in flight: few at first, for quick first hits */
	BATCH_MAX = 16, /* two batches are in memory at a time */
	SNAPSHOT_MS = 50,
	STALE_TRIES = 20,
	HISTOGRAM_FIRST_MS = 1000,
};

struct batch_item {
	struct span data;
	uint32_t stream_id;
	uint64_t first_line, end;
};

struct walk;
/* Blocks that are looked through at the same time. */
struct block_batch {
	struct walk *walk;
	struct arena *arena;
	size_t from, end; /* the heads that it is of */
	struct batch_item items[BATCH_MAX];
	struct search_task task;
};

struct walk {
	struct searching *s;
	int64_t job_id;
	struct log_needles *needles; /* NULL: every block may match */
	struct block_head *heads;
	size_t count;
	size_t at; /* those before it were looked through */
	size_t planned; /* those before it are part of a batch */
	struct tail tail;
	struct block_batch batches[2];
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

static bool is_wanted(const struct walk *walk, const struct block_head *head)
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
		if (is_wanted(walk, &walk->heads[*at]) && !is_counted_whole(walk, &walk->heads[*at]))
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
	TRY(fill_batch(walk, batch, most, err)); /* else nobody begins with it */
	batch->end = walk->planned;
	search_pool_begin(walk->s->pipeline->search_pool, &batch->task);
	return OK;
}

static void finish_batch(struct walk *walk, struct block_batch *batch, struct block_batch *then)
{
	if (batch->end > batch->from)
		search_pool_finish(walk->s->pipeline->search_pool, &walk->s->hand, &batch->task, &then->task);
}

/* All that comes before it in the order of the search was read. */
static struct log_place edge_of(const struct walk *walk, size_t at)
{
	int64_t bound = bound_of(walk, &walk->heads[at]);

	return walk->s->search->oldest_first ? (struct log_place){bound - (bound > INT64_MIN), UINT32_MAX, INT64_MAX}
					     : (struct log_place){bound + (bound < INT64_MAX), 0, 0};
}

/* Further than the cursor: else it would be asked again from the same place for ever. */
static bool has_gone_on(const struct walk *walk, size_t at)
{
	const struct searching *s = walk->s;
	struct log_place edge = edge_of(walk, at);

	return !s->search->after || search_place_precedes(s, s->search->after, &edge);
}

/* An empty one where nothing is left, or no time. */
static enum status begin_next(
	struct walk *walk, struct block_batch *batch, size_t most, int64_t until_ms, struct error *err)
{
	size_t at = walk->planned;

	batch->end = batch->from;
	if (at == walk->count || is_enough(walk, at) || (clock_mono_ms() > until_ms && has_gone_on(walk, at)))
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
		most = most * 2 < BATCH_MAX ? most * 2 : BATCH_MAX;
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

static enum status walk_blocks(struct walk *walk, int64_t until_ms, bool *is_partial, struct error *err)
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

/* ---- the whole ---- */

static void forget_hits(struct searching *s)
{
	while (s->best_count)
		mem_free(s->best[--s->best_count]);
	s->best_bytes = 0;
	s->best_cap = s->search->limit + 1;
	s->is_cut = false;
	s->histogram = (struct histogram){.width = HISTOGRAM_FIRST_MS, .most = LOG_HISTOGRAM_BUCKETS};
	s->ticks = (struct histogram){.width = 1, .most = LOG_TICKS};
	s->total = s->limited = 0;
}

static enum status scan_tail(void *context, const struct tail_stream *stream, uint64_t first_line,
	const struct line *lines, size_t count, struct error *err)
{
	struct searching *s = context;

	search_effort_begin(&s->effort, &s->hand);
	if (!search_effort_is_at_end(&s->effort))
		search_scan_part(s, &s->hand, stream->stream_id, first_line, lines, count, stream->end);
	search_effort_end(&s->effort, &s->hand, false);
	return s->status == OK ? OK : error_no_memory(err); /* the only one that lines outside of blocks can have */
}

static enum status search_unsealed(struct walk *walk, int64_t until_ms, struct error *err)
{
	struct searching *s = walk->s;

	walk->tail = (struct tail){.pipeline = s->pipeline,
		.reader = s->reader,
		.zstd = s->hand.zstd,
		.job = s->search->job,
		.stream = s->search->stream,
		.until_ms = until_ms,
		.take = scan_tail,
		.context = s};
	for (int tries = 0; tries < STALE_TRIES; tries++) {
		forget_hits(s);
		if (s->search->counter)
			s->search->counter->begin(s->search->counter->context);
		TRY(tail_walk(&walk->tail, err));
		if (!walk->tail.is_stale)
			return OK;
	}
	return error_set(err, ERR_UNAVAILABLE, "the log's newest lines move faster than they can be read; try again");
}

static enum status name_hits(struct searching *s, const struct stream_row *streams, size_t count,
	struct log_search_result *out, struct error *err)
{
	for (size_t i = 0; i < out->count; i++) {
		struct log_hit *hit = &out->hits[i];
		*hit = *s->best[i];
		hit->text = arena_copy(s->arena, hit->text);
		hit->stream = SPAN("");
		for (size_t j = 0; j < count; j++)
			if (streams[j].stream_id == hit->place.stream_id)
				hit->stream = streams[j].name;
		if (!hit->text.ptr)
			return error_no_memory(err);
	}
	return OK;
}

static enum status copy_histogram(struct searching *s, struct log_search_result *out, struct error *err)
{
	out->buckets = arena_alloc(s->arena, (s->histogram.count + 1) * sizeof *out->buckets);
	if (!out->buckets)
		return error_no_memory(err);
	for (size_t i = 0; i < s->histogram.count; i++)
		out->buckets[i] = (struct log_bucket){
			(s->histogram.first + (int64_t)i) * s->histogram.width, s->histogram.counts[i]};
	out->bucket_count = s->histogram.count;
	out->bucket_width_ms = s->histogram.width;
	out->total = s->total;
	return OK;
}

static enum status copy_ticks(struct searching *s, struct log_search_result *out, struct error *err)
{
	const struct histogram *ticks = &s->ticks;

	out->ticks = arena_alloc(s->arena, (ticks->count + 1) * sizeof *out->ticks);
	if (!out->ticks)
		return error_no_memory(err);
	for (size_t i = 0; i < ticks->count; i++)
		if (ticks->counts[i])
			out->ticks[out->tick_count++] = (struct log_tick){
				(uint64_t)((ticks->first + (int64_t)i) * ticks->width), ticks->counts[i]};
	out->tick_lines = (uint64_t)ticks->width;
	return OK;
}

/* Out of time: only hits that come before all that was not read are final, and the cursor goes on behind these. Where
 * the time was not enough for the unsealed lines, which have no order that is known before, or for the first blocks, hits
 * are what was found. */
static void end_early(const struct walk *walk, struct log_search_result *out)
{
	struct searching *s = walk->s;
	size_t final = 0;

	if (walk->tail.is_partial || !has_gone_on(walk, walk->at)) {
		out->has_next = false;
		return;
	}
	struct log_place edge = edge_of(walk, walk->at);
	while (final < out->count && search_place_precedes(s, &s->best[final]->place, &edge))
		final++;
	if (final == out->count && out->has_next)
		return; /* a whole page: the ordinary cursor */
	out->count = final;
	out->has_next = true;
	out->next = edge;
}

/* Of blocks all lines, also those beside the times. */
static void count_reach(const struct walk *walk, struct log_search_result *out)
{
	for (size_t i = 0; i < walk->tail.stream_count; i++) {
		const struct tail_stream *stream = &walk->tail.streams[i];
		uint64_t first_line;
		if (search_wants_stream(walk->s->search, stream->stream_id, &first_line))
			out->lines += stream->end - stream->start;
	}
	out->lines_left = walk->tail.is_partial ? out->lines : 0; /* they have no order */
	for (size_t i = 0; i < walk->count; i++) {
		uint64_t count = is_wanted(walk, &walk->heads[i]) ? walk->heads[i].line_count : 0;
		out->lines += count;
		out->lines_left += i >= walk->at ? count : 0;
	}
}

static enum status finish(const struct walk *walk, const struct stream_row *streams, size_t stream_count,
	struct log_search_result *out, struct error *err)
{
	struct searching *s = walk->s;

	out->limited = s->limited;
	count_reach(walk, out);
	out->count = s->best_count < s->search->limit ? s->best_count : s->search->limit;
	out->has_next = s->best_count > s->search->limit || s->is_cut;
	if (out->has_next)
		out->next = s->best[out->count - 1]->place;
	if (out->is_partial)
		end_early(walk, out);
	out->hits = arena_alloc(s->arena, (out->count + 1) * sizeof *out->hits);
	if (!out->hits)
		return error_no_memory(err);
	TRY(name_hits(s, streams, stream_count, out, err));
	if (s->search->wants_histogram)
		TRY(copy_histogram(s, out, err));
	return s->ticks_id ? copy_ticks(s, out, err) : OK;
}

static enum status find_streams(
	struct searching *s, struct walk *walk, struct stream_row **rows, size_t *count, struct error *err)
{
	struct job_row job;

	TRY(store_read_job(s->reader, s->arena, s->search->job, &job, err));
	TRY(store_read_streams(s->reader, s->arena, job.job_id, s->search->stream, rows, count, err));
	if (s->search->stream.len && !*count)
		return error_set_field(err, ERR_NOT_FOUND, "stream", "job '%.*s' has no stream '%.*s'",
			SPAN_ARGS(s->search->job), SPAN_ARGS(s->search->stream));
	walk->job_id = job.job_id;
	return OK;
}

static enum status find_ticks(struct searching *s, struct error *err)
{
	const struct log_search *search = s->search;
	struct stream_row *rows;
	struct job_row job;
	size_t count;

	if (!search->ticks.len || !search->wants_histogram)
		return OK;
	TRY(store_read_job(s->reader, s->arena, search->job, &job, err));
	TRY(store_read_streams(s->reader, s->arena, job.job_id, search->ticks, &rows, &count, err));
	if (!count)
		return error_set_field(err, ERR_NOT_FOUND, "ticks", "job '%.*s' has no stream '%.*s'",
			SPAN_ARGS(search->job), SPAN_ARGS(search->ticks));
	s->ticks_id = rows[0].stream_id;
	return OK;
}

static enum status run(struct searching *s, struct walk *walk, struct log_search_result *out, struct error *err)
{
	int64_t until_ms = clock_mono_ms() + s->search->time_ms;
	struct stream_row *streams;
	size_t stream_count;

	TRY(find_ticks(s, err));
	TRY(search_unsealed(walk, until_ms, err));
	TRY(find_streams(s, walk, &streams, &stream_count, err));
	TRY(store_read_block_heads(s->reader, s->arena, walk->job_id, s->search->stream.len ? streams[0].stream_id : 0,
		&walk->heads, &walk->count, err));
	walk->tail.is_partial |= search_effort_is_at_end(&s->effort);
	out->is_partial = walk->tail.is_partial;
	if (!out->is_partial)
		TRY(walk_blocks(walk, until_ms, &out->is_partial, err));
	if (atomic_load(&s->effort.is_over))
		return error_set(err, ERR_UNAVAILABLE, "the client of this search has gone, or the server is stopping");
	return finish(walk, streams, stream_count, out, err);
}

enum status log_search_run(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	const struct log_search *search, struct log_search_result *out, struct error *err)
{
	AUTO(log_matcher) matcher = NULL;
	AUTO(log_needles) needles = NULL;
	AUTO_MEM struct walk *walk = mem_zeroed(sizeof *walk);
	AUTO_MEM struct log_hit **best = mem_alloc((search->limit + 1) * sizeof *best);
	struct searching s = {.search = search,
		.pipeline = pipeline,
		.reader = reader,
		.arena = arena,
		.best = best,
		.best_cap = search->limit + 1};

	*out = (struct log_search_result){0};
	if (!walk || !best)
		return error_no_memory(err);
	TRY(log_matcher_new(&matcher, search->text, search->is_regex, search->ignore_case, err));
	TRY(log_needles_new(&needles, search->text, search->is_regex, search->ignore_case, err));
	s.matcher = matcher;
	*walk = (struct walk){.s = &s, .needles = needles};
	search_effort_init(&s.effort, search);
	pthread_mutex_init(&s.mutex, NULL);
	enum status status = OK;
	if (!search_hand_init(&s.hand, pipeline->options.match_steps))
		status = error_no_memory(err);
	if (status == OK)
		status = run(&s, walk, out, err);
	if (search->asker.charge)
		search->asker.charge(search->asker.who, atomic_load(&s.effort.helpers_ns));
	forget_hits(&s);
	search_hand_done(&s.hand);
	tail_done(&walk->tail);
	pthread_mutex_destroy(&s.mutex);
	return status;
}
