/* Work that a thread hands to the writer and waits for. */
#include "state/execute.h"

#include "base/clock.h"
#include "state/audit.h"
#include "state/control.h"
#include "state/pipeline_state.h"

struct waiting {
	struct control control;
	struct pipeline *pipeline;
	const struct actor *actor;
	enum status (*work)(void *context, struct store_tx *tx, struct error *err);
	void (*after)(void *context);
	void *context;
	pthread_mutex_t mutex;
	pthread_cond_t settled;
	bool is_done;
	enum status status;
	struct error err;
};

static enum status run_work(void *context, struct store_tx *tx, struct error *err)
{
	struct waiting *waiting = context;

	return audit_run(waiting->pipeline, waiting->actor, tx, waiting->work, waiting->context, err);
}

static void settle(void *context, enum status status, const struct error *err)
{
	struct waiting *waiting = context;

	if (status == OK && waiting->after)
		waiting->after(waiting->context);
	pthread_mutex_lock(&waiting->mutex);
	waiting->status = status;
	if (status != OK)
		waiting->err = *err;
	waiting->is_done = true;
	pthread_cond_signal(&waiting->settled);
	pthread_mutex_unlock(&waiting->mutex);
}

enum status writer_execute_then(struct pipeline *pipeline,
	enum status (*work)(void *context, struct store_tx *tx, struct error *err), void (*after)(void *context),
	void *context, struct error *err)
{
	struct waiting waiting = {
		.pipeline = pipeline, .actor = audit_actor(pipeline), .work = work, .after = after, .context = context};

	waiting.control = (struct control){.work = run_work, .done = settle, .context = &waiting};
	pthread_mutex_init(&waiting.mutex, NULL);
	pthread_cond_init(&waiting.settled, NULL);
	/* not into waiting: once it is pushed that is the writer's */
	enum status pushed = control_push(pipeline, &waiting.control, err);
	pthread_mutex_lock(&waiting.mutex);
	while (pushed == OK && !waiting.is_done)
		pthread_cond_wait(&waiting.settled, &waiting.mutex);
	pthread_mutex_unlock(&waiting.mutex);
	pthread_cond_destroy(&waiting.settled);
	pthread_mutex_destroy(&waiting.mutex);
	if (pushed != OK)
		return pushed;
	if (waiting.status != OK && err)
		*err = waiting.err;
	return waiting.status;
}

enum status writer_execute(struct pipeline *pipeline,
	enum status (*work)(void *context, struct store_tx *tx, struct error *err), void *context, struct error *err)
{
	return writer_execute_then(pipeline, work, NULL, context, err);
}

enum status writer_write_nothing(void *context, struct store_tx *tx, struct error *err)
{
	(void)context;
	(void)tx;
	(void)err;
	return OK;
}

int64_t writer_settled_ms(const struct pipeline *pipeline)
{
	/* in this order: a transaction that is not seen here takes its stamps later */
	int64_t now_ms = clock_wall_ms(), since_ms = atomic_load(&pipeline->stamping_since_ms);

	return (since_ms && since_ms < now_ms ? since_ms : now_ms) - 1;
}
