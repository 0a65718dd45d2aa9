/* What waits for a tracker to tell it: consume.h says when. */
#include "base/clock.h"
#include "base/log.h"
#include "pipeline/alert/rule_match.h"
#include "pipeline/alert/watchers.h"
#include "pipeline/consume/consume.h"
#include "state/control.h"

enum { HELD_MAX = 4096 }; /* values of a stream: more do not wait */

/* A stream that holds values is not sealed: while the journal is long nothing waits. */
bool held_may(const struct pipeline *pipeline, const struct stream_state *stream, const struct series_state *series)
{
	struct job_state *job = stream->job;

	if (!atomic_load(&job->is_tracked) || atomic_load(&job->is_over) || stream->said ||
		!pipeline->options.tracker_wait_ms || stream->held.value_count >= HELD_MAX)
		return false;
	return !(series && series->own_life == atomic_load(&job->life)) && !control_is_journal_long(pipeline);
}

static struct held_series *find(struct held_values *held, uint32_t number)
{
	for (size_t i = 0; i < held->count; i++)
		if (held->series[i].number == number)
			return &held->series[i];
	return NULL;
}

static struct held_series *add(struct held_values *held, const struct held_series *as)
{
	struct span name = as->definition.name, unit = as->definition.unit;

	if (!mem_grow((void **)&held->series, held->count, &held->cap, sizeof *held->series))
		return NULL;
	struct held_series *made = &held->series[held->count];
	*made = *as;
	made->metric = mem_copy_bytes(name.ptr, name.len);
	made->unit = mem_copy_bytes(unit.ptr, unit.len);
	if (!made->metric || !made->unit) {
		held_series_done(made);
		return NULL;
	}
	made->definition.name = span_from(made->metric);
	made->definition.unit = span_from(made->unit);
	held->count++;
	return made;
}

enum status held_put(
	struct stream_state *stream, const struct held_series *as, const struct held_value *value, struct error *err)
{
	struct held_values *held = &stream->held;
	struct held_series *series = find(held, as->number);

	if (!series && !(series = add(held, as)))
		return error_no_memory(err);
	if (!mem_grow((void **)&series->values, series->count, &series->cap, sizeof *series->values))
		return error_no_memory(err);
	series->values[series->count++] = *value;
	held->value_count++;
	return OK;
}

/* Told meanwhile: dropped. */
static enum status release(
	struct pipeline *pipeline, struct stream_state *stream, struct held_series *held, struct error *err)
{
	struct job_state *job = stream->job;
	unsigned life = atomic_load(&job->life);
	struct series_state *series = stream_find_series(stream, held->definition.name);

	if (told_metrics_have(&job->told, held->definition.name, held->told_role, life))
		return consume_give_way(series, true, held->definition.role, err);
	TRY(consume_find_series(pipeline, stream, &held->definition, &series, err));
	if (!series) {
		atomic_fetch_add(&pipeline->figures.refused_points, held->count);
		return OK;
	}
	series->own_life = life;
	for (size_t i = 0; i < held->count; i++)
		TRY(consume_point(pipeline, stream, series, &held->values[i].point, held->values[i].arrival_ms, err));
	return OK;
}

static enum status release_at(struct pipeline *pipeline, struct stream_state *stream, size_t at, struct error *err)
{
	struct held_values *held = &stream->held;
	struct held_series series = held->series[at];

	held->series[at] = held->series[--held->count];
	held->value_count -= series.count;
	enum status status = release(pipeline, stream, &series, err);
	held_series_done(&series);
	return status;
}

enum status held_let_go(struct pipeline *pipeline, struct stream_state *stream, uint32_t number, struct error *err)
{
	const struct held_series *series = stream->held.count ? find(&stream->held, number) : NULL;

	return series ? release_at(pipeline, stream, (size_t)(series - stream->held.series), err) : OK;
}

enum status held_release(struct pipeline *pipeline, struct stream_state *stream, bool is_all, struct error *err)
{
	int64_t now_ms = clock_mono_ms();

	for (size_t i = stream->held.count; i-- > 0;)
		if (is_all || stream->held.series[i].due_ms <= now_ms)
			TRY(release_at(pipeline, stream, i, err));
	return OK;
}

void held_revise(struct stream_state *stream, uint64_t line, uint32_t from, uint32_t to)
{
	for (size_t i = 0; i < stream->held.count; i++) {
		struct held_series *series = &stream->held.series[i];
		for (size_t j = series->count; j-- > 0 && series->values[j].point.line >= line;)
			if (series->values[j].point.attempt == from)
				series->values[j].point.attempt = to;
	}
}

/* True: there are points of it. Whatever else is due of the stream comes with its next slice. */
static bool look_at(struct pipeline *pipeline, struct stream_state *stream)
{
	struct error err;

	pthread_mutex_lock(&stream->mutex);
	bool is_all = atomic_load(&stream->job->is_over) || atomic_load(&stream->job->settling) != SETTLE_NOT ||
		      control_is_journal_long(pipeline);
	size_t before = stream->held.value_count;
	if (before && !stream->has_hole) {
		struct rule_set *rules = pipeline_rules(pipeline);
		watchers_begin(stream, rules, stream->extracted_seq);
		enum status status = held_release(pipeline, stream, is_all, &err);
		watchers_begin(stream, NULL, 0);
		rule_set_unref(rules);
		if (status != OK) { /* their lines are not sealed */
			log_line(LOG_WARNING, "extraction_failed", "job=\"%s\" stream=\"%s\" error=\"%s\"",
				stream->job->name, stream->name, err.text);
			consume_hold_up(stream);
		}
		if (stream->held.value_count < before)
			atomic_store(&stream->job->is_summary_dirty, true);
	}
	bool has_any = stream->held.value_count < before;
	pthread_mutex_unlock(&stream->mutex);
	return has_any;
}

void held_run(struct pipeline *pipeline)
{
	AUTO_MEM struct job_state **jobs = NULL;
	struct error err;
	size_t count;

	if (!pipeline->options.tracker_wait_ms || directory_list(pipeline->directory, &jobs, &count, &err) != OK)
		return; /* out of memory: the next round tries again */
	for (size_t i = 0; i < count; i++) {
		struct stream_state *stream;
		bool has_any = atomic_load(&jobs[i]->is_tracked) && !atomic_load(&jobs[i]->is_deleted);
		for (size_t j = 0; has_any && (stream = job_stream_at(jobs[i], j)); j++)
			if (look_at(pipeline, stream))
				directory_mark_dirty(pipeline->directory, stream);
		job_unref(jobs[i]);
	}
}
