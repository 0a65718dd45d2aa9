/*
 * A copy of the database beside the work: the writer copies some pages between two commits, whoever asked waits and then checks
 * what came out. Pages that are written meanwhile go to both files, because it is the writer's own connection.
 */
#include "pipeline/backup.h"

#include "base/clock.h"
#include "base/log.h"
#include "state/control.h"
#include "state/execute.h"
#include "state/pipeline_state.h"
#include "store/admin.h"

#include <errno.h>

enum { STEP_PAGES = 256, LOOK_MS = 250 };

struct copying {
	struct control control;
	struct pipeline *pipeline;
	const char *path;
	struct store_backup *backup;
	atomic_bool is_given_up;
	pthread_mutex_t mutex;
	pthread_cond_t moved;
	/* under the mutex */
	bool is_over;
	uint64_t left, total;
	enum status status;
	struct error err;
};

static enum status copy_some(struct copying *copying, uint64_t *left, uint64_t *total, struct error *err)
{
	if (atomic_load(&copying->is_given_up))
		return error_set(err, ERR_UNAVAILABLE, "the backup was ended before it was through");
	if (!copying->backup)
		TRY(store_backup_begin(&copying->backup, copying->pipeline->options.store, copying->path, err));
	return store_backup_step(copying->backup, STEP_PAGES, left, total, err);
}

/* After a commit, on the writer thread: outside of any transaction. Comes again behind the next one. */
static void step(void *context, enum status status, const struct error *commit_err)
{
	struct copying *copying = context;
	uint64_t left = 1, total = 0;
	struct error err = {0};

	if (status != OK)
		err = *commit_err;
	else
		status = copy_some(copying, &left, &total, &err);
	if (status == OK && left) {
		pthread_mutex_lock(&copying->mutex);
		copying->left = left;
		copying->total = total;
		pthread_mutex_unlock(&copying->mutex);
		status = control_push(copying->pipeline, &copying->control, &err);
		if (status == OK)
			return;
	}
	pthread_mutex_lock(&copying->mutex);
	copying->status = status;
	copying->err = err;
	copying->left = left;
	copying->is_over = true;
	pthread_cond_signal(&copying->moved);
	pthread_mutex_unlock(&copying->mutex);
}

static void wait_for_it(
	struct copying *copying, bool (*progress)(void *context, uint64_t left, uint64_t total), void *context)
{
	pthread_mutex_lock(&copying->mutex);
	while (!copying->is_over) {
		struct timespec until = clock_deadline(LOOK_MS);
		if (pthread_cond_timedwait(&copying->moved, &copying->mutex, &until) != ETIMEDOUT)
			continue;
		uint64_t left = copying->left, total = copying->total;
		pthread_mutex_unlock(&copying->mutex);
		if (!progress(context, left, total))
			atomic_store(&copying->is_given_up, true);
		pthread_mutex_lock(&copying->mutex);
	}
	pthread_mutex_unlock(&copying->mutex);
}

static enum status copy_whole(struct copying *copying, bool (*progress)(void *context, uint64_t left, uint64_t total),
	void *context, struct error *err)
{
	TRY(control_push(copying->pipeline, &copying->control, err));
	wait_for_it(copying, progress, context);
	if (copying->status != OK) {
		*err = copying->err;
		return copying->status;
	}
	return store_backup_finish(copying->backup, err);
}

enum status pipeline_backup(struct pipeline *pipeline, const char *path,
	bool (*progress)(void *context, uint64_t left, uint64_t total), void *context, struct error *err)
{
	struct copying copying = {.pipeline = pipeline, .path = path};
	int64_t start_ms = clock_mono_ms();

	copying.control = (struct control){.work = writer_write_nothing, .done = step, .context = &copying};
	pthread_condattr_t monotonic;
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_mutex_init(&copying.mutex, NULL);
	pthread_cond_init(&copying.moved, &monotonic);
	pthread_condattr_destroy(&monotonic);
	enum status status = copy_whole(&copying, progress, context, err);
	/* the writer has let it go: it stepped for the last time */
	store_backup_free(copying.backup);
	pthread_cond_destroy(&copying.moved);
	pthread_mutex_destroy(&copying.mutex);
	if (status == OK)
		log_line(LOG_INFO, "backup", "file=\"%s\" ms=%lld", path, (long long)(clock_mono_ms() - start_ms));
	else
		log_line(LOG_ERROR, "backup_failed", "file=\"%s\" error=\"%s\"", path, err->text);
	return status;
}
