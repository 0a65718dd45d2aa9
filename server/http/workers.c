#include "http/workers.h"

#include <pthread.h>

struct worker {
	struct workers *workers;
	pthread_t thread;
	void *context;
	bool has_context;
	bool is_running;
};

struct workers {
	struct queue *queue;
	const struct http_hooks *hooks;
	size_t max_pending;
	atomic_bool is_dropping;
	unsigned count;
	struct worker all[];
};

static void *work_until_closed(void *argument)
{
	struct worker *worker = argument;
	struct queue_item *item;

	pthread_setname_np(pthread_self(), "worker");
	while ((item = queue_pop(worker->workers->queue, -1))) {
		struct work *work = (struct work *)item;
		work->run(work, worker->context, atomic_load(&worker->workers->is_dropping));
	}
	return NULL;
}

static enum status start_worker(struct workers *workers, struct worker *worker, struct error *err)
{
	worker->workers = workers;
	if (workers->hooks->worker_new) {
		TRY(workers->hooks->worker_new(workers->hooks->context, &worker->context, err));
		worker->has_context = true;
	}
	int failure = pthread_create(&worker->thread, NULL, work_until_closed, worker);
	if (failure)
		return error_set(err, ERR_IO, "cannot start a worker thread: %s", strerror(failure));
	worker->is_running = true;
	return OK;
}

enum status workers_new(
	struct workers **out, unsigned count, size_t max_pending, const struct http_hooks *hooks, struct error *err)
{
	AUTO(workers) workers = mem_zeroed(sizeof *workers + count * sizeof *workers->all);

	if (!workers || !(workers->queue = queue_new(max_pending, SIZE_MAX)))
		return error_no_memory(err);
	workers->hooks = hooks;
	workers->max_pending = max_pending;
	for (; workers->count < count; workers->count++) {
		enum status status = start_worker(workers, &workers->all[workers->count], err);
		if (status) {
			workers->count++; /* what it has already is freed */
			return status;
		}
	}
	*out = TAKE(workers);
	return OK;
}

void workers_stop(struct workers *workers)
{
	atomic_store(&workers->is_dropping, true);
	if (workers->queue)
		queue_close(workers->queue);
	for (unsigned i = 0; i < workers->count; i++) {
		struct worker *worker = &workers->all[i];
		if (worker->is_running)
			pthread_join(worker->thread, NULL);
		if (worker->has_context && workers->hooks->worker_free)
			workers->hooks->worker_free(worker->context);
		worker->is_running = worker->has_context = false;
	}
}

void workers_free(struct workers *workers)
{
	if (!workers)
		return;
	workers_stop(workers);
	queue_free(workers->queue);
	mem_free(workers);
}

enum status workers_push(struct workers *workers, struct work *work, struct error *err)
{
	enum status status = queue_push(workers->queue, &work->item, err);

	if (status == ERR_BUSY) {
		error_set(
			err, ERR_BUSY, "%zu requests wait for a worker already (--max-pending)", workers->max_pending);
		if (err)
			err->retry_after_s = 1;
	}
	return status;
}

enum status workers_push_again(struct workers *workers, struct work *work, struct error *err)
{
	return queue_push_again(workers->queue, &work->item, err);
}
