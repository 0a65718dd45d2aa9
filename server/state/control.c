/* What all rooms need of the threads: the queue to the writer, the ticks until the end, whether a job is still there. */
#include "state/control.h"

#include "base/clock.h"
#include "base/log.h"
#include "state/streams/directory.h"
#include "state/pipeline_state.h"
#include "store/jobs.h"

enum status control_push(struct pipeline *pipeline, struct control *control, struct error *err)
{
	control->work_item.is_control = true;
	return queue_push_control(pipeline->queue, &control->work_item.item, err);
}

bool control_wait_tick(struct pipeline *pipeline, int64_t timeout_ms)
{
	struct timespec deadline = clock_deadline(timeout_ms);

	pthread_mutex_lock(&pipeline->tick_mutex);
	int result = 0;
	while (!pipeline->must_end && result == 0)
		result = pthread_cond_timedwait(&pipeline->tick, &pipeline->tick_mutex, &deadline);
	bool must_end = pipeline->must_end;
	pthread_mutex_unlock(&pipeline->tick_mutex);
	return must_end;
}

enum status control_wait_reader(
	struct pipeline *pipeline, const char *thread, struct store_reader **out, struct error *err)
{
	enum { AGAIN_MS = 200 };
	bool is_told = false;

	*out = NULL;
	for (;;) {
		enum status status = store_reader_new(out, pipeline->options.store, err);
		if (status != ERR_UNAVAILABLE)
			return status;
		if (!is_told)
			log_line(LOG_WARNING, "thread_waits", "thread=%s error=\"%s\"", thread, err->text);
		is_told = true;
		if (control_wait_tick(pipeline, AGAIN_MS))
			return OK;
	}
}

enum status control_check_job_gone(
	struct pipeline *pipeline, struct store_tx *tx, const struct job_state *job, bool *is_gone, struct error *err)
{
	AUTO(arena) arena = NULL;
	struct job_row row;

	*is_gone = atomic_load(&job->is_deleted);
	if (*is_gone || pipeline->deletion_round != pipeline->round)
		return OK;
	if (!(arena = arena_new()))
		return error_no_memory(err);
	enum status status = store_read_job_by_id(store_tx_reader(tx), arena, job->job_id, &row, err);
	*is_gone = status == ERR_NOT_FOUND;
	return *is_gone ? OK : status;
}

bool control_may_pass(enum status status)
{
	return status == ERR_MEMORY || status == ERR_UNAVAILABLE || status == ERR_IO || status == ERR_BUSY;
}

bool control_is_journal_long(const struct pipeline *pipeline)
{
	return atomic_load(&pipeline->figures.journal_bytes) > pipeline->options.journal_bytes / 2;
}
