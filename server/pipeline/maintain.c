/* The maintenance thread: flushes summaries, seals, trims the journal, lets idle jobs go. Its writes go through the writer. */
#include "pipeline/maintain.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/log_pace.h"
#include "pipeline/jobs/emergency_run.h"
#include "pipeline/alert/continuity_watch.h"
#include "pipeline/alert/data_watch.h"
#include "pipeline/alert/rate_watch.h"
#include "pipeline/alert/evaluation_watch.h"
#include "pipeline/alert/incidents.h"
#include "pipeline/alert/notices.h"
#include "pipeline/alert/overdue.h"
#include "pipeline/alert/stragglers.h"
#include "pipeline/consume/consume.h"
#include "pipeline/consume/mend.h"
#include "pipeline/consume/signs.h"
#include "pipeline/goodput/goodput.h"
#include "pipeline/jobs/life_run.h"
#include "pipeline/jobs/settle.h"
#include "pipeline/life/life.h"
#include "pipeline/life/pools.h"
#include "pipeline/life/stall.h"
#include "pipeline/retention/retention.h"
#include "pipeline/seal/filter_sweep.h"
#include "pipeline/seal/pyramids.h"
#include "pipeline/seal/seal.h"
#include "pipeline/summaries.h"
#include "state/control.h"
#include "state/streams/directory.h"
#include "state/execute.h"
#include "state/figures.h"
#include "state/pipeline_state.h"
#include "store/jobs.h"
#include "store/journal.h"
#include "store/retention.h"

#include <inttypes.h>
#include <stdlib.h>

enum {
	TICK_MS = 250,
	SUMMARY_MS = 2000,
	NAME_ENDS_MS = 1000, /* each reads a view of all streams of its job in the writer's turn */
	DEBT_SUMMARY_MS = 500, /* while sealed rows wait for summaries, and are too many */
	TRIM_ROWS = 256,
	KEPT_MS = 10 * 1000, /* a stream that has not got a block's text by then gets little of it */
	FORGET_MS = 15 * 60 * 1000, /* a job that was silent so long, and is sealed, leaves RAM */
};

struct maintenance {
	struct pipeline *pipeline;
	struct store_reader *reader;
	struct zstd *zstd;
	int64_t flushed_ms;
	int64_t summed_ms; /* when summaries were last begun */
	int64_t named_ms; /* when ends were last named anew */
	uint64_t flushed_seq; /* summaries hold what was extracted up to here, or have been tried */
	uint64_t seen; /* lines and points taken in when it was last looked */
	uint64_t tidied; /* those that were sealed when unused memory went back last */
	int64_t oldest_since_ms; /* when the present oldest row became the oldest: its age is at least that */
	uint64_t oldest_seq;
	struct sealing {
		uint64_t committed_seq, extracted_seq, flushed_seq;
		int64_t at_ms;
	} sealing; /* as it was when streams were looked at last; at_ms 0: look anew */
	int64_t seal_from_ms; /* not before: there was no room for what was packed */
	struct log_pace seal_failures, retain_failures;
	struct retention_state retention;
	struct pyramid_sweep pyramids;
	struct filter_sweep filters;
	int64_t counted_id; /* pools_sweep */
	int64_t judged_id; /* evaluation_watch_run */
};

static bool flush_summaries_until(struct maintenance *m, int64_t rank_until_ms)
{
	m->summed_ms = clock_mono_ms();
	return summaries_flush(m->pipeline, m->reader, rank_until_ms, &m->flushed_seq);
}

static void flush_summaries(struct maintenance *m)
{
	flush_summaries_until(m, 0);
}

/* A job that is not ranked before the end is next looked at with its next point, and may have got its last one. */
static void flush_all_summaries(struct maintenance *m, int64_t until_ms)
{
	while (flush_summaries_until(m, until_ms) && clock_mono_ms() < until_ms)
		;
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
	kept_groups_drop(&m->pipeline->kept_groups, needed, KEPT_MS);
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

/*
 * All streams are looked at when something came that one of them may be due by, and now and then for what passes with time alone: of a
 * server that is asked for nothing nobody looks at each of a hundred thousand streams in each round.
 */
static bool is_seal_due(struct maintenance *m)
{
	const struct pipeline_figures *figures = &m->pipeline->figures;
	const struct sealing *last = &m->sealing;
	const struct sealing now = {.committed_seq = atomic_load(&figures->committed_seq),
		.extracted_seq = atomic_load(&figures->extracted_seq),
		.flushed_seq = m->flushed_seq,
		.at_ms = clock_mono_ms()};
	bool is_news = now.committed_seq != last->committed_seq || now.extracted_seq != last->extracted_seq ||
		       now.flushed_seq != last->flushed_seq;

	if (!is_news && now.at_ms - last->at_ms < SUMMARY_MS && !is_debt_high(m) && !settle_is_asked(m->pipeline))
		return false;
	m->sealing = now;
	return true;
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
	if (status != OK && status != ERR_UNAVAILABLE && log_pace_is_due(&m->seal_failures, err.text, clock_mono_ms()))
		log_line(LOG_ERROR, "seal_failed", "left_out=%" PRIu64 " error=\"%s\"",
			log_pace_take_left_out(&m->seal_failures), err.text);
	if (status != OK)
		m->sealing.at_ms = 0;
	if (status == ERR_UNAVAILABLE)
		m->seal_from_ms = clock_mono_ms() + SUMMARY_MS;
}

/* ---- forgetting ---- */

static bool is_idle(struct job_state *job, int64_t now_ms)
{
	bool idle = now_ms - atomic_load(&job->touched_ms) > FORGET_MS && atomic_load(&job->settling) == SETTLE_NOT &&
		    !atomic_load(&job->is_summary_dirty) && !atomic_load(&job->is_backfilled);

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

static void ask_to_forget(struct pipeline *pipeline)
{
	struct control *control = mem_zeroed(sizeof *control);
	struct error err;

	if (!control)
		return; /* a later round tries again */
	*control = (struct control){
		.work = writer_write_nothing, .done = forget_idle, .context = control, .owner = pipeline};
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
			summaries_mend(m->pipeline, m->reader, stream);
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
	if (status != OK && status != ERR_UNAVAILABLE &&
		log_pace_is_due(&m->retain_failures, err.text, clock_mono_ms()))
		log_line(LOG_WARNING, "retention_failed", "left_out=%" PRIu64 " error=\"%s\"",
			log_pace_take_left_out(&m->retain_failures), err.text);
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

/* What can wait is not written into the room that is to stay free; but a job that is deleted, or looked at whole, is sealed before. */
static bool may_write_more(const struct maintenance *m)
{
	return !atomic_load(&m->pipeline->figures.is_disk_low) || settle_is_asked(m->pipeline);
}

static bool maintain(struct maintenance *m, int64_t now_ms)
{
	bool has_idle = false;

	held_run(m->pipeline);
	if (now_ms - m->named_ms >= NAME_ENDS_MS && atomic_load(&m->pipeline->ends_due)) {
		life_name_ends(m->pipeline);
		m->named_ms = now_ms;
	}
	if (now_ms - m->flushed_ms >= SUMMARY_MS) {
		look_at_streams(m, &has_idle);
		flush_summaries(m);
		stragglers_run(m->pipeline,
			m->reader); /* what has caught up before the end of the job is not over with that */
		incident_ends_run(m->pipeline, m->reader); /* before others close what the end of the job closes */
		stall_run(m->pipeline, m->reader);
		faults_run(m->pipeline, m->reader);
		overdue_run(m->pipeline, m->reader);
		continuity_watch_run(m->pipeline, m->reader);
		data_watch_run(m->pipeline, m->reader);
		rate_watch_run(m->pipeline, m->reader);
		evaluation_watch_run(m->pipeline, m->reader, &m->judged_id);
		emergency_run(m->pipeline, m->reader);
		life_run(m->pipeline, m->reader);
		mend_run(m->pipeline, m->reader, m->zstd);
		give_memory_back(m);
		m->flushed_ms = now_ms;
	}
	notices_run(m->pipeline, m->reader);
	if (atomic_exchange(&m->pipeline->summaries_due, false) || settle_is_asked(m->pipeline))
		flush_summaries(m);
	bool may_write = may_write_more(m);
	if (may_write && (now_ms >= m->seal_from_ms || settle_is_asked(m->pipeline)) && is_seal_due(m))
		seal(m, is_debt_high(m), INT64_MAX);
	settle_run(m->pipeline);
	if (may_write) {
		build_pyramids(m, now_ms);
		build_filters(m);
	}
	if (has_idle)
		ask_to_forget(m->pipeline);
	bool has_pools = end_pools(m), has_jobs = may_write && account(m);
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
		.counted_id = INT64_MIN,
		.judged_id = INT64_MIN};
	struct error err = {.text = "out of memory"};

	pthread_setname_np(pthread_self(), "maintenance");
	if (!zstd || control_wait_reader(pipeline, "maintenance", &reader, &err) != OK) {
		log_line(LOG_ERROR, "maintenance_failed", "error=\"%s\"", err.text);
		abort(); /* without it the journal grows until ingest stops: better to say so at once */
	}
	if (!reader)
		return NULL;
	m.reader = reader;
	for (bool has_more = false; !control_wait_tick(pipeline, has_more ? 1 : TICK_MS);)
		has_more = maintain(&m, clock_mono_ms());
	int64_t stopped_ms = clock_mono_ms();
	stragglers_run(pipeline, reader);
	life_name_ends(pipeline); /* else nothing of these jobs would be sealed */
	look_at_streams(&m, &(bool){false});
	flush_all_summaries(&m, stopped_ms + pipeline->drain_ms / 2); /* the rest is for sealing */
	if (may_write_more(&m))
		seal(&m, true, stopped_ms + pipeline->drain_ms);
	return NULL;
}
