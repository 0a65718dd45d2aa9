/*
 * A search: first the unsealed lines, as RAM knows them, then the blocks below these, in the order of their times. What the
 * sealer moves between the two is below a stream's tail_start in neither and both cases counted once: blocks give only
 * lines below it, the journal only lines from it on; a journal row that is gone meanwhile starts everything again.
 */
#include "read/logs/search.h"

#include "base/clock.h"
#include "state/pipeline_state.h"
#include "store/jobs.h"
#include "store/pack/log_filter.h"
#include "store/streams.h"

enum {
	STALE_TRIES = 20,
	HISTOGRAM_FIRST_MS = 1000,
};

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

	if (walk->tail.is_partial || !search_blocks_have_gone_on(walk, walk->at)) {
		out->has_next = false;
		return;
	}
	struct log_place edge = search_blocks_edge(walk, walk->at);
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
		uint64_t count = search_blocks_is_wanted(walk, &walk->heads[i]) ? walk->heads[i].line_count : 0;
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
		TRY(search_blocks_walk(walk, until_ms, &out->is_partial, err));
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
