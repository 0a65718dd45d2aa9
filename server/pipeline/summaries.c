#include "pipeline/summaries.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/map.h"
#include "model/metrics/stream_name.h"
#include "pipeline/jobs/job_record.h"
#include "pipeline/jobs/rank_jobs.h"
#include "pipeline/jobs/life_run.h"
#include "pipeline/life/halts.h"
#include "read/charts/chart_query.h"
#include "read/charts/derivation.h"
#include "read/charts/points_walk.h"
#include "read/view.h"
#include "state/control.h"
#include "state/execute.h"
#include "state/figures.h"
#include "state/streams/directory.h"
#include "state/streams/job_view.h"
#include "state/streams/work_times.h"
#include "store/goodput.h"
#include "store/job_facts.h"
#include "store/jobs.h"
#include "store/transitions.h"

enum {
	FLUSH_JOBS = 64, /* in one transaction */
	RANK_MS = 200, /* of so many jobs */
};

struct flush {
	struct job_state *job;
	struct job_counts counts;
	struct summary_row *rows;
	size_t count, cap;
	struct setting_row *settings; /* that are not in the store yet */
	size_t setting_count, setting_end;
	struct job_progress progress;
	bool has_ended;
};

struct flushes {
	struct pipeline *pipeline;
	struct flush items[FLUSH_JOBS];
	size_t count;
};

static void merge(struct summary *into, const struct summary *from)
{
	bool had_finite = summary_has_finite(into), has_finite = summary_has_finite(from);

	if (!from->count)
		return;
	if (has_finite) {
		into->min = !had_finite || from->min < into->min ? from->min : into->min;
		into->max = !had_finite || from->max > into->max ? from->max : into->max;
		sum_merge(&into->sum, &from->sum);
	}
	if (!into->count || from->first_step < into->first_step)
		into->first_step = from->first_step;
	if (!into->count || from->last_step > into->last_step ||
		(from->last_step == into->last_step && from->last_ts_ms > into->last_ts_ms)) {
		into->last_step = from->last_step;
		into->last_ts_ms = from->last_ts_ms;
		into->last = from->last;
	}
	into->count += from->count;
	into->nan_count += from->nan_count;
	into->inf_count += from->inf_count;
}

/* *number: the row's, from 1 on, which is what the map keeps: rows move as their array grows. */
static enum status add_row(struct flush *flush, struct map *numbers, struct arena *names,
	const struct series_view *series, uintptr_t *number, struct error *err)
{
	struct summary_row made = {.metric = arena_copy(names, series->metric),
		.unit = arena_copy(names, series->unit),
		.role = series->role};

	if (!made.metric.ptr || !made.unit.ptr ||
		!mem_grow((void **)&flush->rows, flush->count, &flush->cap, sizeof *flush->rows))
		return error_no_memory(err);
	*number = flush->count + 1;
	if (!map_put(numbers, made.metric, (void *)*number))
		return error_no_memory(err);
	flush->rows[flush->count++] = made;
	return OK;
}

static enum status fold_series(struct flush *flush, struct map *numbers, struct arena *names,
	const struct series_view *series, struct error *err)
{
	uintptr_t number = (uintptr_t)map_get(numbers, series->metric);

	if (!number)
		TRY(add_row(flush, numbers, names, series, &number, err));
	merge(&flush->rows[number - 1].summary, &series->summary);
	return OK;
}

static enum status fold_job(struct flush *flush, struct arena *names, const struct job_view *view, struct error *err)
{
	AUTO(map) numbers = map_new();
	struct stretches work;

	if (!numbers)
		return error_no_memory(err);
	work_times_of(view, &work);
	flush->counts.work_to_ms = stretches_last_ms(&work);
	for (size_t i = 0; i < view->stream_count; i++) {
		const struct stream_view *stream = &view->streams[i];
		if (stream_is_system(stream->name))
			continue;
		flush->counts.streams++;
		flush->counts.lines += stream->lines;
		if (stream->last_ms > flush->counts.last_line_ms)
			flush->counts.last_line_ms = stream->last_ms;
		if (stream->last_arrival_ms > flush->counts.last_heard_ms)
			flush->counts.last_heard_ms = stream->last_arrival_ms;
		if (stream->attempt > flush->counts.attempts)
			flush->counts.attempts = stream->attempt;
		for (size_t j = 0; j < stream->series_count; j++)
			TRY(fold_series(flush, numbers, names, &stream->series[j], err));
	}
	return OK;
}

static enum status write_flushes(void *context, struct store_tx *tx, struct error *err)
{
	struct flushes *flushes = context;
	bool is_gone;

	for (size_t i = 0; i < flushes->count; i++) {
		struct flush *flush = &flushes->items[i];
		TRY(control_check_job_gone(flushes->pipeline, tx, flush->job, &is_gone, err));
		if (is_gone)
			continue;
		TRY(store_put_summaries(tx, flush->job->job_id, &flush->counts, flush->rows, flush->count, err));
		TRY(store_add_settings(tx, flush->job->job_id, flush->settings, flush->setting_count, err));
		TRY(store_touch_goodput(tx, flush->job->job_id,
			flush->has_ended ? 0 : flushes->pipeline->options.goodput_every_ms, err));
		if (flush->progress.total_steps)
			TRY(store_put_progress(tx, flush->job->job_id, &flush->progress, err));
	}
	return OK;
}

/* Statuses may tell of some, and the log of others: both are looked through only where that can be. */
static enum status count_attempts(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	const struct job_row *row, struct flush *flush, struct error *err)
{
	struct transition_row *rows;
	struct attempt *attempts;
	size_t count, row_count;

	if (flush->counts.attempts < 2)
		return OK;
	TRY(store_read_transitions(reader, arena, row->job_id, &rows, &row_count, err));
	if (attempts_told(rows, row_count) < 2 && attempts_until_ms(rows, row_count) == INT64_MAX)
		return OK;
	TRY(attempts_read(
		pipeline, reader, arena, row, flush->counts.attempts, rows, row_count, &attempts, &count, err));
	flush->counts.attempts = (uint32_t)count;
	return OK;
}

static enum status read_flush(struct pipeline *pipeline, struct store_reader *reader, struct arena *names,
	struct flush *flush, struct error *err)
{
	AUTO(arena) arena = arena_new();
	struct job_view view;

	if (!arena || !names)
		return error_no_memory(err);
	TRY(view_read_job(
		pipeline, reader, arena, span_from(flush->job->name), SPAN(""), SPAN(""), VIEW_SERIES, &view, err));
	if (view.row.job_id != flush->job->job_id)
		return error_set(err, ERR_NOT_FOUND, "job '%s' was deleted, and is another now", flush->job->name);
	flush->has_ended = view.row.ended_ms != 0;
	TRY(job_settings_unwritten(
		flush->job->settings, names, &flush->settings, &flush->setting_count, &flush->setting_end, err));
	derivation_find_progress(flush->job, &flush->progress);
	TRY(fold_job(flush, names, &view, err));
	return count_attempts(pipeline, reader, arena, &view.row, flush, err);
}

static void say_flush_failed(const struct job_state *job, const struct error *err)
{
	if (!atomic_load(&job->is_deleted))
		log_line(LOG_WARNING, "summary_failed", "job=\"%s\" error=\"%s\"", job->name, err->text);
}

static void settle_halts(struct pipeline *pipeline, struct store_reader *reader, struct job_state *job)
{
	struct error err;

	if (!atomic_exchange(&job->is_halt_due, false) || halts_settle(pipeline, reader, job->job_id, &err) == OK)
		return;
	atomic_store(&job->is_halt_due, true);
	atomic_store(&job->is_summary_dirty, true);
	say_flush_failed(job, &err);
}

/* One transaction for many jobs: a commit each would keep this thread from sealing. False: some have to be tried again. */
static bool flush_jobs(struct pipeline *pipeline, struct store_reader *reader, struct job_state *const *jobs,
	size_t count, int64_t rank_until_ms, bool *has_more)
{
	AUTO(arena) names = arena_new(); /* of the rows' metrics: a view of a job is much larger, and lives shorter */
	struct flushes flushes = {.pipeline = pipeline};
	struct error err = {0};

	for (size_t i = 0; i < count; i++) {
		struct flush *flush = &flushes.items[flushes.count];
		*flush = (struct flush){.job = jobs[i]};
		flushes.count++;
		if (read_flush(pipeline, reader, names, flush, &err) == OK)
			continue;
		say_flush_failed(jobs[i], &err);
		atomic_store(&jobs[i]->is_summary_dirty, true);
		mem_free(flush->rows);
		flushes.count--;
	}
	bool is_written = flushes.count && writer_execute(pipeline, write_flushes, &flushes, &err) == OK;
	int64_t until_ms =
		clock_mono_ms() + RANK_MS; /* not of the time for the commit: a slow disk would leave none, ever */
	until_ms = rank_until_ms > until_ms ? rank_until_ms : until_ms;
	for (size_t i = 0; i < flushes.count; i++) {
		struct flush *flush = &flushes.items[i];
		if (is_written) {
			job_settings_settle(flush->job->settings, flush->setting_end);
			if (rank_job(pipeline, reader, flush->job, flush->rows, flush->count, flush->has_ended,
				    until_ms, &err) != OK)
				say_flush_failed(flush->job, &err);
			else if (atomic_load(&flush->job->is_summary_dirty))
				*has_more = true;
			/* Of every job: one may have been told as ended since the flush was prepared, while its log was not
			 * known yet. */
			if (life_date_ends(pipeline, reader, flush->job->job_id, &err) != OK)
				say_flush_failed(flush->job, &err);
			settle_halts(pipeline, reader, flush->job);
			atomic_store(&flush->job->is_row_dirty, true);
			continue;
		}
		say_flush_failed(flush->job, &err);
		atomic_store(&flush->job->is_summary_dirty, true);
	}
	for (size_t i = 0; i < flushes.count; i++)
		mem_free(flushes.items[i].rows);
	return flushes.count == count && (is_written || !count);
}

bool summaries_flush(struct pipeline *pipeline, struct store_reader *reader, int64_t rank_until_ms, uint64_t *tried_seq)
{
	AUTO_MEM struct job_state **jobs = NULL;
	struct job_state *due[FLUSH_JOBS];
	struct error err;
	size_t count, due_count = 0;
	uint64_t seq = atomic_load(&pipeline->figures.extracted_seq);
	bool is_whole = true, has_more = false;

	if (directory_list(pipeline->directory, &jobs, &count, &err) != OK)
		return false; /* out of memory: the next round tries again */
	for (size_t i = 0; i < count; i++) {
		bool is_wanted = !atomic_load(&jobs[i]->is_deleted) && atomic_load(&jobs[i]->settling) != SETTLE_DONE;
		if (is_wanted && atomic_exchange(&jobs[i]->is_summary_dirty, false))
			due[due_count++] = jobs[i];
		if (due_count == FLUSH_JOBS || i + 1 == count) {
			is_whole &= flush_jobs(pipeline, reader, due, due_count, rank_until_ms, &has_more);
			due_count = 0;
		}
	}
	if (is_whole)
		atomic_store(&pipeline->figures.indexed_seq, seq);
	*tried_seq = seq;
	for (size_t i = 0; i < count; i++)
		job_unref(jobs[i]);
	return has_more;
}

/* ---- summaries that hold superseded points ---- */

static enum status sum_point(void *context, const struct stream_view *stream, const struct series_view *series,
	const struct point *point, int64_t x, struct error *err)
{
	(void)stream;
	(void)series;
	(void)x;
	(void)err;
	summary_add(context, point);
	return OK;
}

/* Taken back before the points are read: it is set again when an attempt opens, or turns out to be none, meanwhile. */
static void set_needs_summary(struct stream_state *stream, struct series_state *series, bool needs)
{
	pthread_mutex_lock(&stream->mutex);
	series->needs_summary = needs;
	stream->has_unsummed = stream->has_unsummed || needs;
	pthread_mutex_unlock(&stream->mutex);
}

/* Puts the sum of the first `seen` points in place, with those that came since: only this thread seals, so they are in the tail. */
static void place_summary(
	struct stream_state *stream, struct series_state *series, const struct summary *summary, uint64_t seen)
{
	pthread_mutex_lock(&stream->mutex);
	if (!series->needs_summary && seen >= series->sealed_points) {
		struct attempt_starts starts = series_starts(stream, series);
		series->summary = *summary;
		for (size_t i = (size_t)(seen - series->sealed_points); i < series->tail_count; i++)
			if (!point_is_superseded(&series->tail[i], starts))
				summary_add(&series->summary, &series->tail[i]);
		stream->is_resummed = true;
		atomic_store(&stream->job->is_summary_dirty, true);
	}
	pthread_mutex_unlock(&stream->mutex);
}

/* Reads the series' points that count and sums them. */
static enum status sum_series(struct pipeline *pipeline, struct store_reader *reader, struct stream_state *stream,
	struct series_state *series, struct summary *out, uint64_t *seen, struct error *err)
{
	AUTO(arena) arena = arena_new();
	struct job_view view;
	struct chart_query query = {.metric = span_from(series->metric),
		.stream = span_from(stream->name),
		.from = INT64_MIN,
		.to = INT64_MAX,
		.attempts = ATTEMPTS_LIVE};

	if (!arena)
		return error_no_memory(err);
	TRY(view_read_job(pipeline, reader, arena, span_from(stream->job->name), query.stream, query.metric,
		VIEW_SERIES | VIEW_TAILS, &view, err));
	TRY(points_walk_all(reader, arena, &view, &query, sum_point, out, err));
	for (size_t i = 0; i < view.streams[0].series_count; i++)
		if (view.streams[0].series[i].series_id == series->series_id)
			*seen = view.streams[0].series[i].sealed_points + view.streams[0].series[i].tail_count;
	return OK;
}

static enum status resum_series(struct pipeline *pipeline, struct store_reader *reader, struct stream_state *stream,
	struct series_state *series, struct error *err)
{
	struct summary summary = {0};
	uint64_t seen = 0;

	set_needs_summary(stream, series, false);
	enum status status = sum_series(pipeline, reader, stream, series, &summary, &seen, err);
	if (status == OK)
		place_summary(stream, series, &summary, seen);
	else
		set_needs_summary(stream, series, true);
	return status;
}

static bool take_unsummed(struct stream_state *stream)
{
	pthread_mutex_lock(&stream->mutex);
	bool has_unsummed = stream->has_unsummed;
	stream->has_unsummed = false; /* before its series are looked at: one that needs it meanwhile says so anew */
	pthread_mutex_unlock(&stream->mutex);
	return has_unsummed;
}

static void resum_stream(struct pipeline *pipeline, struct store_reader *reader, struct stream_state *stream)
{
	struct error err;

	if (!take_unsummed(stream))
		return;
	for (size_t i = 0;; i++) {
		pthread_mutex_lock(&stream->mutex);
		bool is_end = i >= stream->series_count;
		struct series_state *series = is_end ? NULL : stream->series[i];
		bool must = !is_end && series->needs_summary;
		pthread_mutex_unlock(&stream->mutex);
		if (is_end)
			return;
		if (must && resum_series(pipeline, reader, stream, series, &err) != OK)
			log_line(LOG_WARNING, "summary_failed", "job=\"%s\" error=\"%s\"", stream->job->name, err.text);
	}
}

/* No back-fill takes the place of a series while it is looked at. */
void summaries_mend(struct pipeline *pipeline, struct store_reader *reader, struct stream_state *stream)
{
	pthread_mutex_lock(&pipeline->seal_mutex);
	resum_stream(pipeline, reader, stream);
	pthread_mutex_unlock(&pipeline->seal_mutex);
}
