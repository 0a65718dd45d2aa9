/* What waits for a tracker to tell it: consume.h says when. */
#include "base/clock.h"
#include "base/log.h"
#include "pipeline/alert/rule_match.h"
#include "pipeline/alert/watchers.h"
#include "pipeline/consume/consume.h"

#include <stdlib.h>
#include "state/control.h"

enum {
	HELD_MAX = 4096, /* values of a stream: more do not wait */
	HOLDING_MOST = 4, /* times the wait: a stream that always says something new has to be sealed, too */
};

unsigned held_period(const struct stream_state *stream)
{
	return atomic_load(&stream->job->life) + atomic_load(&stream->job->begins);
}

/* The log's own: it had points of its lines, and no tracker has told it since. After a start of the server its points say so. */
static bool is_own(const struct stream_state *stream, const struct series_state *series)
{
	unsigned period = held_period(stream);

	return series->own_period == period ||
	       (period == 1 && series_has_points(series) && series->max_ms >= atomic_load(&stream->job->began_ms) &&
		       !series->is_told && !series->has_given_way);
}

bool held_may(const struct pipeline *pipeline, const struct stream_state *stream, const struct series_state *series)
{
	int64_t wait_ms = pipeline->options.tracker_wait_ms;

	if (!atomic_load(&stream->job->is_tracked) || atomic_load(&stream->job->is_over) || stream->said || !wait_ms)
		return false;
	if (is_own(stream, series) || stream->held_count >= HELD_MAX || control_is_journal_long(pipeline))
		return false;
	return !stream->held_count || clock_mono_ms() - stream->held_since_ms < HOLDING_MOST * wait_ms;
}

enum status held_put(const struct pipeline *pipeline, struct stream_state *stream, struct series_state *series,
	const struct held_value *value, struct error *err)
{
	struct held_values *held = &series->held;
	int64_t now_ms = clock_mono_ms();

	if (!mem_grow((void **)&held->values, held->count, &held->cap, sizeof *held->values))
		return error_no_memory(err);
	if (!held->count) {
		held->due_ms = now_ms + pipeline->options.tracker_wait_ms;
		held->life = atomic_load(&stream->job->life);
		held->period = held_period(stream);
	}
	if (!stream->held_count) {
		stream->held_since_ms = now_ms;
		directory_mark(pipeline->directory, STREAMS_HOLDING, stream);
	}
	held->values[held->count++] = *value;
	stream->held_count++;
	return series_has_points(series) ? OK : consume_give_way(series, true, value->role, err);
}

/* Points of values that waited: what follows from them is derived line by line, as if they had not. */
struct given {
	struct given_value {
		const struct series_state *series;
		struct held_value value;
	} * values;
	size_t count, cap;
};

static enum status note_given(
	struct given *given, const struct series_state *series, const struct held_value *value, struct error *err)
{
	if (!mem_grow((void **)&given->values, given->count, &given->cap, sizeof *given->values))
		return error_no_memory(err);
	given->values[given->count++] = (struct given_value){series, *value};
	return OK;
}

static int by_line(const void *a, const void *b)
{
	const struct point *left = &((const struct given_value *)a)->value.point;
	const struct point *right = &((const struct given_value *)b)->value.point;

	return (left->line > right->line) - (left->line < right->line);
}

static enum status derive_given(
	struct pipeline *pipeline, struct stream_state *stream, struct given *given, struct error *err)
{
	if (given->count)
		qsort(given->values, given->count, sizeof *given->values, by_line);
	for (size_t i = 0; i < given->count; i++) {
		const struct given_value *now = &given->values[i];
		bool is_last = i + 1 == given->count || by_line(now, now + 1) != 0;
		derive_see(stream->derive, now->series->measure, now->series->factor, now->series->series_id,
			&now->value.point);
		if (is_last && derive_has_step(stream->derive))
			TRY(consume_derived(pipeline, stream, now->value.arrival_ms, err));
	}
	return OK;
}

/* Told meanwhile: dropped. */
static enum status release(struct pipeline *pipeline, struct stream_state *stream, struct series_state *series,
	const struct held_values *held, struct given *given, struct error *err)
{
	bool may_derive = extractor_has_steps(stream->extractor);
	const struct held_value *first = &held->values[0];
	bool is_told = told_metrics_have(&stream->job->told, span_from(series->metric), first->told_role, held->life);

	TRY(consume_give_way(series, is_told, first->role, err));
	if (is_told)
		return OK;
	series->own_period = held->period;
	for (size_t i = 0; i < held->count; i++) {
		TRY(consume_point(pipeline, stream, series, &held->values[i].point, held->values[i].arrival_ms, err));
		if (may_derive && series->measure != MEASURE_NONE)
			TRY(note_given(given, series, &held->values[i], err));
	}
	if (first->point.attempt != extractor_attempt(stream->extractor))
		consume_rebuild_summary(stream, series);
	return OK;
}

static enum status let_go(struct pipeline *pipeline, struct stream_state *stream, struct series_state *series,
	struct given *given, struct error *err)
{
	struct held_values held = series->held;

	series->held = (struct held_values){0};
	stream->held_count -= held.count;
	enum status status = release(pipeline, stream, series, &held, given, err);
	mem_free(held.values);
	return status;
}

enum status held_release(struct pipeline *pipeline, struct stream_state *stream, bool is_all, struct error *err)
{
	int64_t now_ms = stream->held_count ? clock_mono_ms() : 0;
	struct given given = {0};
	enum status status = OK;

	for (size_t i = 0; i < stream->series_count && stream->held_count && status == OK; i++) {
		struct series_state *series = stream->series[i];
		if (series->held.count && (is_all || series->held.due_ms <= now_ms))
			status = let_go(pipeline, stream, series, &given, err);
	}
	if (status == OK)
		status = derive_given(pipeline, stream, &given, err);
	mem_free(given.values);
	return status;
}

void held_end_wait(struct series_state *series)
{
	series->held.due_ms = INT64_MIN;
}

void held_revise(struct series_state *series, uint64_t line, uint32_t from, uint32_t to)
{
	for (size_t i = series->held.count; i-- > 0 && series->held.values[i].point.line >= line;)
		if (series->held.values[i].point.attempt == from)
			series->held.values[i].point.attempt = to;
}

enum status held_release_all(struct pipeline *pipeline, struct stream_state *stream, bool is_all, struct error *err)
{
	struct rule_set *rules = pipeline_rules(pipeline);

	watchers_begin(stream, rules, stream->extracted_seq);
	enum status status = held_release(pipeline, stream, is_all, err);
	watchers_begin(stream, NULL, 0);
	rule_set_unref(rules);
	atomic_store(&stream->job->is_summary_dirty, true);
	if (status != OK) /* their lines are not sealed */
		consume_hold_up(stream);
	return status;
}

/* Whatever else is due of a stream comes with its next slice. */
static void look_at(struct pipeline *pipeline, struct stream_state *stream)
{
	struct error err;

	pthread_mutex_lock(&stream->mutex);
	bool is_all = atomic_load(&stream->job->is_over) || atomic_load(&stream->job->settling) != SETTLE_NOT ||
		      control_is_journal_long(pipeline);
	size_t before = stream->held_count;
	if (before && !stream->has_hole && held_release_all(pipeline, stream, is_all, &err) != OK)
		log_line(LOG_WARNING, "extraction_failed", "job=\"%s\" stream=\"%s\" error=\"%s\"", stream->job->name,
			stream->name, err.text);
	if (stream->held_count < before)
		directory_mark(pipeline->directory, STREAMS_DIRTY, stream);
	if (stream->held_count)
		directory_mark(pipeline->directory, STREAMS_HOLDING, stream);
	pthread_mutex_unlock(&stream->mutex);
}

void held_run(struct pipeline *pipeline)
{
	directory_swap(pipeline->directory, STREAMS_HOLDING);
	for (struct stream_state *stream; (stream = directory_pop(pipeline->directory, STREAMS_HOLDING));) {
		if (!atomic_load(&stream->job->is_deleted))
			look_at(pipeline, stream);
		job_unref(stream->job);
	}
}
