#include "pipeline/jobs/settle.h"

#include "base/clock.h"
#include "state/control.h"
#include "state/pipeline_state.h"

enum { LOOK_MS = 5, RETRY_S = 1 };

static enum status say_busy(struct span name, struct error *err)
{
	error_set(err, ERR_BUSY, "what was sent of job '%.*s' is still being put away; try again", SPAN_ARGS(name));
	if (err)
		err->retry_after_s = RETRY_S;
	return ERR_BUSY;
}

enum status settle_begin(
	struct pipeline *pipeline, struct span name, int64_t until_ms, struct job_state **out, struct error *err)
{
	struct job_state *job = *out = directory_find(pipeline->directory, name);

	if (!job)
		return OK;
	atomic_fetch_add(&pipeline->settling_jobs, 1);
	while (atomic_load(&job->settling) != SETTLE_DONE && !atomic_load(&job->is_deleted)) {
		atomic_store(&job->settling, SETTLE_ASKED); /* again: another who asked may have ended */
		if (clock_mono_ms() >= until_ms || control_wait_tick(pipeline, LOOK_MS))
			return say_busy(name, err);
	}
	return OK;
}

void settle_end(struct pipeline *pipeline, struct job_state *job)
{
	if (!job)
		return;
	atomic_store(&job->settling, SETTLE_NOT);
	atomic_fetch_sub(&pipeline->settling_jobs, 1);
	job_unref(job);
}

static bool is_settled(struct job_state *job)
{
	struct stream_state *stream;
	bool is = !atomic_load(&job->is_summary_dirty) && !atomic_load(&job->is_end_due);

	for (size_t i = 0; is && (stream = job_stream_at(job, i)); i++) {
		pthread_mutex_lock(&stream->mutex);
		is = !stream->range_count && !stream->pending_incidents;
		pthread_mutex_unlock(&stream->mutex);
	}
	return is;
}

/* Lines of the transaction that is open are planned, and not committed. */
static bool is_planned(struct job_state *job)
{
	struct stream_state *stream;
	bool is = false;

	for (size_t i = 0; !is && (stream = job_stream_at(job, i)); i++) {
		pthread_mutex_lock(&stream->mutex);
		is = stream->planned_line != stream->committed_line || stream->planned_point != stream->committed_point;
		pthread_mutex_unlock(&stream->mutex);
	}
	return is;
}

enum status settle_check(struct pipeline *pipeline, const struct job_row *row, struct error *err)
{
	struct job_state *job = directory_peek_id(pipeline->directory, row->job_id);

	if (!job) /* unless lines of this transaction have brought it back */
		return pipeline->load_round == pipeline->round ? say_busy(row->name, err) : OK;
	bool is = atomic_load(&job->settling) == SETTLE_DONE && job->birth_round != pipeline->round &&
		  is_settled(job) && !is_planned(job);
	return is ? OK : say_busy(row->name, err);
}

bool settle_is_asked(struct pipeline *pipeline)
{
	return atomic_load(&pipeline->settling_jobs) != 0;
}

void settle_run(struct pipeline *pipeline)
{
	AUTO_MEM struct job_state **jobs = NULL;
	struct error err;
	size_t count;

	if (!settle_is_asked(pipeline) || directory_list(pipeline->directory, &jobs, &count, &err) != OK)
		return; /* out of memory: the next round tries again */
	for (size_t i = 0; i < count; i++) {
		int asked = SETTLE_ASKED;
		if (atomic_load(&jobs[i]->settling) == SETTLE_ASKED && is_settled(jobs[i]))
			atomic_compare_exchange_strong(&jobs[i]->settling, &asked, SETTLE_DONE);
		job_unref(jobs[i]);
	}
}
