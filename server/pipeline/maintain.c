/* The maintenance thread: flushes summaries, seals, trims the journal, lets idle jobs go. Its writes go through the writer. */
#include "pipeline/maintain.h"

#include "base/clock.h"
#include "base/log.h"
#include "model/metrics/stream_name.h"
#include "pipeline/jobs/emergency_run.h"
#include "pipeline/alert/incidents.h"
#include "pipeline/alert/notices.h"
#include "pipeline/alert/overdue.h"
#include "pipeline/alert/stragglers.h"
#include "pipeline/consume/mend.h"
#include "pipeline/consume/signs.h"
#include "pipeline/goodput/goodput.h"
#include "pipeline/jobs/job_record.h"
#include "pipeline/jobs/rank_jobs.h"
#include "pipeline/jobs/life_run.h"
#include "pipeline/life/life.h"
#include "pipeline/life/pools.h"
#include "pipeline/life/stall.h"
#include "pipeline/retention/retention.h"
#include "pipeline/seal/filter_sweep.h"
#include "pipeline/seal/pyramids.h"
#include "pipeline/seal/seal.h"
#include "read/charts/chart.h"
#include "read/charts/chart_query.h"
#include "read/charts/derivation.h"
#include "read/view.h"
#include "state/control.h"
#include "state/streams/directory.h"
#include "state/execute.h"
#include "state/figures.h"
#include "state/streams/job_view.h"
#include "state/pipeline_state.h"
#include "state/streams/work_times.h"
#include "store/goodput.h"
#include "store/job_facts.h"
#include "store/jobs.h"
#include "store/journal.h"
#include "store/retention.h"
#include "store/transitions.h"

#include <stdlib.h>

enum {
	TICK_MS = 250,
	SUMMARY_MS = 2000,
	DEBT_SUMMARY_MS = 500, /* while sealed rows wait for summaries, and are too many */
	FLUSH_JOBS = 64, /* in one transaction */
	RANK_MS = 200, /* of so many jobs */
	TRIM_ROWS = 256,
	FORGET_MS = 15 * 60 * 1000, /* a job that was silent so long, and is sealed, leaves RAM */
};

struct maintenance {
	struct pipeline *pipeline;
	struct store_reader *reader;
	struct zstd *zstd;
	int64_t flushed_ms;
	int64_t summed_ms; /* when summaries were last begun */
	uint64_t flushed_seq; /* summaries hold what was extracted up to here, or have been tried */
	uint64_t seen; /* lines and points taken in when it was last looked */
	uint64_t tidied; /* those that were sealed when unused memory went back last */
	int64_t oldest_since_ms; /* when the present oldest row became the oldest: its age is at least that */
	uint64_t oldest_seq;
	struct retention_state retention;
	struct pyramid_sweep pyramids;
	struct filter_sweep filters;
	int64_t counted_id; /* pools_sweep */
};

/* ---- summaries ---- */

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
		into->sum += from->sum;
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

static enum status fold_series(
	struct flush *flush, struct arena *names, const struct series_view *series, struct error *err)
{
	struct summary_row *row = NULL;

	for (size_t i = 0; i < flush->count && !row; i++)
		if (span_equal(flush->rows[i].metric, series->metric))
			row = &flush->rows[i];
	if (!row) {
		if (!mem_grow((void **)&flush->rows, flush->count, &flush->cap, sizeof *flush->rows))
			return error_no_memory(err);
		struct summary_row made = {.metric = arena_copy(names, series->metric),
			.unit = arena_copy(names, series->unit),
			.role = series->role};
		if (!made.metric.ptr || !made.unit.ptr)
			return error_no_memory(err);
		row = &flush->rows[flush->count++];
		*row = made;
	}
	merge(&row->summary, &series->summary);
	return OK;
}

static enum status fold_job(struct flush *flush, struct arena *names, const struct job_view *view, struct error *err)
{
	struct stretches work;

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
			TRY(fold_series(flush, names, &stream->series[j], err));
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
static enum status count_attempts(
	struct maintenance *m, struct arena *arena, const struct job_row *row, struct flush *flush, struct error *err)
{
	struct transition_row *rows;
	struct attempt *attempts;
	size_t count, row_count;

	if (flush->counts.attempts < 2)
		return OK;
	TRY(store_read_transitions(m->reader, arena, row->job_id, &rows, &row_count, err));
	if (attempts_told(rows, row_count) < 2 && attempts_until_ms(rows, row_count) == INT64_MAX)
		return OK;
	TRY(attempts_read(
		m->pipeline, m->reader, arena, row, flush->counts.attempts, rows, row_count, &attempts, &count, err));
	flush->counts.attempts = (uint32_t)count;
	return OK;
}

static enum status read_flush(struct maintenance *m, struct arena *names, struct flush *flush, struct error *err)
{
	AUTO(arena) arena = arena_new();
	struct job_view view;

	if (!arena || !names)
		return error_no_memory(err);
	TRY(view_read_job(m->pipeline, m->reader, arena, span_from(flush->job->name), SPAN(""), SPAN(""), VIEW_SERIES,
		&view, err));
	if (view.row.job_id != flush->job->job_id)
		return error_set(err, ERR_NOT_FOUND, "job '%s' was deleted, and is another now", flush->job->name);
	flush->has_ended = view.row.ended_ms != 0;
	TRY(job_settings_unwritten(
		flush->job->settings, names, &flush->settings, &flush->setting_count, &flush->setting_end, err));
	derivation_find_progress(flush->job, &flush->progress);
	TRY(fold_job(flush, names, &view, err));
	return count_attempts(m, arena, &view.row, flush, err);
}

static void say_flush_failed(const struct job_state *job, const struct error *err)
{
	if (!atomic_load(&job->is_deleted))
		log_line(LOG_WARNING, "summary_failed", "job=\"%s\" error=\"%s\"", job->name, err->text);
}

/* One transaction for many jobs: a commit each would keep this thread from sealing. False: some have to be tried again. */
static bool flush_jobs(struct maintenance *m, struct job_state *const *jobs, size_t count)
{
	AUTO(arena) names = arena_new(); /* of the rows' metrics: a view of a job is much larger, and lives shorter */
	struct flushes flushes = {.pipeline = m->pipeline};
	struct error err = {0};

	for (size_t i = 0; i < count; i++) {
		struct flush *flush = &flushes.items[flushes.count];
		*flush = (struct flush){.job = jobs[i]};
		flushes.count++;
		if (read_flush(m, names, flush, &err) == OK)
			continue;
		say_flush_failed(jobs[i], &err);
		atomic_store(&jobs[i]->is_summary_dirty, true);
		mem_free(flush->rows);
		flushes.count--;
	}
	bool is_written = flushes.count && writer_execute(m->pipeline, write_flushes, &flushes, &err) == OK;
	int64_t until_ms =
		clock_mono_ms() + RANK_MS; /* not of the time for the commit: a slow disk would leave none, ever */
	for (size_t i = 0; i < flushes.count; i++) {
		struct flush *flush = &flushes.items[i];
		if (is_written) {
			job_settings_settle(flush->job->settings, flush->setting_end);
			if (rank_job(m->pipeline, m->reader, flush->job, flush->rows, flush->count, flush->has_ended,
				    until_ms, &err) != OK)
				say_flush_failed(flush->job, &err);
			/* Of every job: one may have been told as ended since the flush was prepared, while its log was not
			 * known yet. */
			if (life_date_ends(m->pipeline, m->reader, flush->job->job_id, &err) != OK)
				say_flush_failed(flush->job, &err);
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

static void flush_summaries(struct maintenance *m)
{
	AUTO_MEM struct job_state **jobs = NULL;
	struct job_state *due[FLUSH_JOBS];
	struct error err;
	size_t count, due_count = 0;
	uint64_t seq = atomic_load(&m->pipeline->figures.extracted_seq);
	bool is_whole = true;

	m->summed_ms = clock_mono_ms();
	if (directory_list(m->pipeline->directory, &jobs, &count, &err) != OK)
		return; /* out of memory: the next round tries again */
	for (size_t i = 0; i < count; i++) {
		if (!atomic_load(&jobs[i]->is_deleted) && atomic_exchange(&jobs[i]->is_summary_dirty, false))
			due[due_count++] = jobs[i];
		if (due_count == FLUSH_JOBS || i + 1 == count) {
			is_whole &= flush_jobs(m, due, due_count);
			due_count = 0;
		}
	}
	if (is_whole)
		atomic_store(&m->pipeline->figures.indexed_seq, seq);
	m->flushed_seq = seq;
	for (size_t i = 0; i < count; i++)
		job_unref(jobs[i]);
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
	pthread_mutex_unlock(&stream->mutex);
}

/* Puts the sum of the first `seen` points in place, with those that came since: only this thread seals, so they are in the tail. */
static void place_summary(
	struct stream_state *stream, struct series_state *series, const struct summary *summary, uint64_t seen)
{
	const int64_t *starts;

	pthread_mutex_lock(&stream->mutex);
	if (!series->needs_summary && seen >= series->sealed_points) {
		size_t count = extractor_attempt_starts(stream->extractor, &starts);
		series->summary = *summary;
		for (size_t i = (size_t)(seen - series->sealed_points); i < series->tail_count; i++)
			if (!point_is_superseded(&series->tail[i], starts, count))
				summary_add(&series->summary, &series->tail[i]);
		atomic_store(&stream->job->is_summary_dirty, true);
	}
	pthread_mutex_unlock(&stream->mutex);
}

/* Reads the series' points that count and sums them. */
static enum status sum_series(struct maintenance *m, struct stream_state *stream, struct series_state *series,
	struct summary *out, uint64_t *seen, struct error *err)
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
	TRY(view_read_job(m->pipeline, m->reader, arena, span_from(stream->job->name), query.stream, query.metric,
		VIEW_SERIES | VIEW_TAILS, &view, err));
	TRY(chart_each_point(m->pipeline, m->reader, arena, &view, &query, sum_point, out, err));
	for (size_t i = 0; i < view.streams[0].series_count; i++)
		if (view.streams[0].series[i].series_id == series->series_id)
			*seen = view.streams[0].series[i].sealed_points + view.streams[0].series[i].tail_count;
	return OK;
}

static enum status resum_series(
	struct maintenance *m, struct stream_state *stream, struct series_state *series, struct error *err)
{
	struct summary summary = {0};
	uint64_t seen = 0;

	set_needs_summary(stream, series, false);
	enum status status = sum_series(m, stream, series, &summary, &seen, err);
	if (status == OK)
		place_summary(stream, series, &summary, seen);
	else
		set_needs_summary(stream, series, true);
	return status;
}

static void resum_stream(struct maintenance *m, struct stream_state *stream)
{
	struct error err;

	for (size_t i = 0;; i++) {
		pthread_mutex_lock(&stream->mutex);
		bool is_end = i >= stream->series_count;
		struct series_state *series = is_end ? NULL : stream->series[i];
		bool must = !is_end && series->needs_summary;
		pthread_mutex_unlock(&stream->mutex);
		if (is_end)
			return;
		if (must && resum_series(m, stream, series, &err) != OK)
			log_line(LOG_WARNING, "summary_failed", "job=\"%s\" error=\"%s\"", stream->job->name, err.text);
	}
}

/* No back-fill takes the place of a series while it is looked at. */
static void resum(struct maintenance *m, struct stream_state *stream)
{
	pthread_mutex_lock(&m->pipeline->seal_mutex);
	resum_stream(m, stream);
	pthread_mutex_unlock(&m->pipeline->seal_mutex);
}

/* ---- the journal ---- */

struct trim {
	uint64_t before_seq;
};

static enum status write_trim(void *context, struct store_tx *tx, struct error *err)
{
	return store_trim_journal(tx, ((struct trim *)context)->before_seq, TRIM_ROWS, err);
}

/* The oldest commit that some stream still needs. */
static enum status find_needed(struct maintenance *m, uint64_t *before_seq, struct error *err)
{
	AUTO_MEM struct job_state **jobs = NULL;
	size_t count;

	*before_seq =
		atomic_load(&m->pipeline->figures.committed_seq) + 1; /* read before the ranges: see plan_publish */
	TRY(directory_list(m->pipeline->directory, &jobs, &count, err));
	for (size_t i = 0; i < count; i++) {
		struct stream_state *stream;
		for (size_t j = 0; !atomic_load(&jobs[i]->is_deleted) && (stream = job_stream_at(jobs[i], j)); j++) {
			pthread_mutex_lock(&stream->mutex);
			if (stream->range_count && stream->ranges[0].seq < *before_seq)
				*before_seq = stream->ranges[0].seq;
			pthread_mutex_unlock(&stream->mutex);
		}
		job_unref(jobs[i]);
	}
	return OK;
}

static enum status count_journal(struct maintenance *m, struct error *err)
{
	uint64_t newest, oldest, bytes;

	TRY(store_journal_figures(m->reader, &newest, &oldest, &bytes, err));
	atomic_store(&m->pipeline->figures.journal_bytes, bytes);
	return OK;
}

static bool is_debt_high(const struct maintenance *m)
{
	return atomic_load(&m->pipeline->figures.journal_bytes) > m->pipeline->options.seal_bytes ||
	       clock_mono_ms() - m->oldest_since_ms > m->pipeline->options.seal_age_ms;
}

static enum status trim_journal(struct maintenance *m, struct error *err)
{
	uint64_t newest, oldest, needed, before;
	bool has_trimmed = false;

	TRY(find_needed(m, &needed, err));
	if (needed > m->flushed_seq + 1 && is_debt_high(m) && clock_mono_ms() - m->summed_ms >= DEBT_SUMMARY_MS)
		flush_summaries(m);
	/* A row tells a start after a crash that its jobs' summaries may be behind. */
	before = needed > m->flushed_seq + 1 ? m->flushed_seq + 1 : needed;
	for (;;) {
		TRY(store_journal_range(m->reader, &newest, &oldest, err));
		bool is_debt = oldest && (oldest != newest || needed <= oldest); /* the newest row stays in any case */
		if (oldest != m->oldest_seq || !is_debt) {
			m->oldest_seq = oldest;
			m->oldest_since_ms = clock_mono_ms();
		}
		if (!oldest || oldest >= before || oldest == newest)
			return has_trimmed ? count_journal(m, err) : OK;
		struct trim trim = {before};
		TRY(writer_execute(m->pipeline, write_trim, &trim, err));
		has_trimmed = true;
	}
}

static void seal(struct maintenance *m, bool all, int64_t until_ms)
{
	struct error err;
	bool has_more = true;
	enum status status = OK;
	uint64_t due_seq = all ? atomic_load(&m->pipeline->figures.committed_seq) : 0;

	while (has_more && status == OK && clock_mono_ms() < until_ms) {
		pthread_mutex_lock(&m->pipeline->seal_mutex);
		status = seal_run(m->pipeline, m->reader, m->zstd, due_seq, &has_more, &err);
		pthread_mutex_unlock(&m->pipeline->seal_mutex);
	}
	if (status == OK)
		status = trim_journal(m, &err);
	if (status != OK && status != ERR_UNAVAILABLE)
		log_line(LOG_ERROR, "seal_failed", "error=\"%s\"", err.text);
}

/* ---- forgetting ---- */

static bool is_idle(struct job_state *job, int64_t now_ms)
{
	bool idle = now_ms - atomic_load(&job->touched_ms) > FORGET_MS && !atomic_load(&job->is_summary_dirty) &&
		    !atomic_load(&job->is_backfilled);

	struct stream_state *stream;
	for (size_t i = 0; idle && (stream = job_stream_at(job, i)); i++) {
		pthread_mutex_lock(&stream->mutex);
		idle = stream->range_count == 0 && !stream->pending_incidents;
		pthread_mutex_unlock(&stream->mutex);
	}
	return idle;
}

/* After a commit, on the writer thread: nobody is planning a line for a job then, so none can lose its state under it. */
static void forget_idle(void *context, enum status status, const struct error *commit_err)
{
	struct control *control = context;
	struct pipeline *pipeline = control->owner;
	AUTO_MEM struct job_state **jobs = NULL;
	struct error err;
	size_t count;

	(void)commit_err;
	mem_free(control);
	if (status != OK || directory_list(pipeline->directory, &jobs, &count, &err) != OK)
		return; /* a later round tries again */
	for (size_t i = 0; i < count; i++) {
		if (is_idle(jobs[i], clock_wall_ms()))
			directory_remove(pipeline->directory, jobs[i]);
		job_unref(jobs[i]);
	}
}

static enum status write_nothing(void *context, struct store_tx *tx, struct error *err)
{
	(void)context;
	(void)tx;
	(void)err;
	return OK;
}

static void ask_to_forget(struct pipeline *pipeline)
{
	struct control *control = mem_zeroed(sizeof *control);
	struct error err;

	if (!control)
		return; /* a later round tries again */
	*control = (struct control){.work = write_nothing, .done = forget_idle, .context = control, .owner = pipeline};
	if (control_push(pipeline, control, &err) != OK)
		mem_free(control); /* stopping */
}

/* ---- the thread ---- */

static void look_at_streams(struct maintenance *m, bool *has_idle)
{
	AUTO_MEM struct job_state **jobs = NULL;
	struct error err;
	size_t count;

	if (directory_list(m->pipeline->directory, &jobs, &count, &err) != OK)
		return; /* out of memory: the next round tries again */
	for (size_t i = 0; i < count; i++) {
		struct stream_state *stream;
		for (size_t j = 0; (stream = job_stream_at(jobs[i], j)); j++)
			resum(m, stream);
		*has_idle = *has_idle || is_idle(jobs[i], clock_wall_ms());
		job_unref(jobs[i]);
	}
}

/* A pass does a slice or two; while more waits, the next pass comes at once. */
static bool retain(struct maintenance *m)
{
	struct error err;
	bool has_more = false;

	enum status status = retention_run(m->pipeline, &m->retention, m->reader, &has_more, &err);
	if (status != OK && status != ERR_UNAVAILABLE)
		log_line(LOG_WARNING, "retention_failed", "error=\"%s\"", err.text);
	return status == OK && has_more;
}

/* After work, once it is quiet: what a burst needed goes back to the machine. */
static void give_memory_back(struct maintenance *m)
{
	const struct pipeline_figures *figures = &m->pipeline->figures;
	uint64_t sealed = atomic_load(&figures->sealed_lines) + atomic_load(&figures->sealed_points);
	uint64_t taken = atomic_load(&figures->lines) + atomic_load(&figures->points);

	if (taken == m->seen && sealed != m->tidied) {
		mem_give_back();
		m->tidied = sealed;
	}
	m->seen = taken;
}

/* Of databases older than pyramids, and of what lags: a little at a time. */
static void build_pyramids(struct maintenance *m, int64_t now_ms)
{
	struct error err;
	bool is_found = true;

	while (is_found && clock_mono_ms() < now_ms + TICK_MS)
		if (pyramid_sweep(m->pipeline, m->reader, m->zstd, &m->pyramids, &is_found, &err) != OK) {
			m->pyramids.series_id++; /* a damaged one must not keep the others waiting */
			log_line(LOG_ERROR, "pyramid_failed", "error=\"%s\"", err.text);
			return;
		}
}

/* Of databases older than filters: a slice a round, and none while lines wait to be sealed. */
static void build_filters(struct maintenance *m)
{
	struct error err;

	if (m->filters.is_done || atomic_load(&m->pipeline->figures.journal_bytes) > m->pipeline->options.seal_bytes)
		return;
	if (filter_sweep_run(m->pipeline, m->reader, m->zstd, &m->filters, &err) != OK)
		log_line(LOG_WARNING, "filter_failed", "error=\"%s\"", err.text);
}

/* At most one shape a round: others' work is not kept waiting by a thousand pools that end at once. */
static bool end_pools(struct maintenance *m)
{
	struct error err;
	bool has_more = false;

	enum status status = pools_run(m->pipeline, m->reader, &has_more, &err);
	if (status == OK)
		status = pools_sweep(m->pipeline, m->reader, &m->counted_id, &err);
	if (status != OK && status != ERR_UNAVAILABLE) {
		log_line(LOG_WARNING, "pools_failed", "error=\"%s\"", err.text);
		m->counted_id = INT64_MAX; /* the next start tries again */
	}
	return (status == OK && has_more) || m->counted_id != INT64_MAX;
}

/* Not while lines wait to be sealed. */
static bool account(struct maintenance *m)
{
	struct error err;
	bool has_more = false;

	if (is_debt_high(m))
		return false;
	enum status status = goodput_run(m->pipeline, m->reader, &has_more, &err);
	if (status != OK && status != ERR_UNAVAILABLE)
		log_line(LOG_WARNING, "goodput_failed", "error=\"%s\"", err.text);
	return status == OK && has_more;
}

static bool maintain(struct maintenance *m, int64_t now_ms)
{
	bool has_idle = false;

	if (now_ms - m->flushed_ms >= SUMMARY_MS) {
		look_at_streams(m, &has_idle);
		flush_summaries(m);
		incident_ends_run(m->pipeline, m->reader); /* before others close what the end of the job closes */
		stall_run(m->pipeline, m->reader);
		stragglers_run(m->pipeline, m->reader);
		faults_run(m->pipeline, m->reader);
		overdue_run(m->pipeline, m->reader);
		emergency_run(m->pipeline, m->reader);
		life_run(m->pipeline, m->reader);
		mend_run(m->pipeline, m->reader, m->zstd);
		give_memory_back(m);
		m->flushed_ms = now_ms;
	}
	notices_run(m->pipeline, m->reader);
	seal(m, is_debt_high(m), INT64_MAX);
	build_pyramids(m, now_ms);
	build_filters(m);
	if (has_idle)
		ask_to_forget(m->pipeline);
	bool has_pools = end_pools(m), has_jobs = account(m);
	return retain(m) || has_pools || has_jobs;
}

void *maintenance_run(void *context)
{
	struct pipeline *pipeline = context;
	AUTO(store_reader) reader = NULL;
	AUTO(zstd) zstd = zstd_new();
	struct maintenance m = {.pipeline = pipeline,
		.zstd = zstd,
		.oldest_since_ms = clock_mono_ms(),
		.pyramids = {.job_id = INT64_MIN},
		.filters = {.after = {.job_id = INT64_MIN}},
		.counted_id = INT64_MIN};
	struct error err;

	pthread_setname_np(pthread_self(), "maintenance");
	if (!zstd || store_reader_new(&reader, pipeline->options.store, &err) != OK) {
		log_line(LOG_ERROR, "maintenance_failed", "error=\"out of memory or no reader\"");
		abort(); /* without it the journal grows until ingest stops: better to say so at once */
	}
	m.reader = reader;
	for (bool has_more = false; !control_wait_tick(pipeline, has_more ? 1 : TICK_MS);)
		has_more = maintain(&m, clock_mono_ms());
	stragglers_run(pipeline, reader);
	look_at_streams(&m, &(bool){false});
	flush_summaries(&m);
	seal(&m, true, clock_mono_ms() + pipeline->drain_ms);
	return NULL;
}
