#include "read/logs/search_pool.h"

#include "base/alloc.h"

#include <pthread.h>

enum { THREADS_MAX = 64 };

struct member {
	struct search_pool *pool;
	pthread_t thread;
	struct search_hand hand;
};

struct search_pool {
	pthread_mutex_t mutex;
	pthread_cond_t has_work, has_ended;
	struct search_task *tasks; /* those with work that nobody has taken, the first first */
	bool must_end;
	unsigned count;
	struct member members[THREADS_MAX];
};

bool search_hand_init(struct search_hand *hand, uint32_t match_steps)
{
	*hand = (struct search_hand){.zstd = zstd_new(), .scratch = regex_scratch_new()};
	hand->plain = BUF_INIT(SIZE_MAX / 2);
	if (hand->scratch)
		regex_scratch_limit(hand->scratch, match_steps);
	return hand->zstd && hand->scratch;
}

void search_hand_done(struct search_hand *hand)
{
	zstd_free(hand->zstd);
	regex_scratch_free(hand->scratch);
	buf_done(&hand->plain);
	mem_free(hand->found);
}

static void forget(struct search_pool *pool, const struct search_task *task)
{
	for (struct search_task **at = &pool->tasks; *at; at = &(*at)->behind)
		if (*at == task) {
			*at = task->behind;
			return;
		}
}

/* Under the lock, which is let go meanwhile. */
static void take_one(struct search_pool *pool, struct search_task *task, struct search_hand *hand)
{
	size_t index = task->next++;

	if (task->next == task->count)
		forget(pool, task);
	pthread_mutex_unlock(&pool->mutex);
	task->work(task->context, hand, index);
	pthread_mutex_lock(&pool->mutex);
	if (++task->done == task->count)
		pthread_cond_broadcast(&pool->has_ended);
}

static void *member_run(void *argument)
{
	struct member *member = argument;
	struct search_pool *pool = member->pool;

	pthread_mutex_lock(&pool->mutex);
	while (!pool->must_end) {
		if (pool->tasks)
			take_one(pool, pool->tasks, &member->hand);
		else
			pthread_cond_wait(&pool->has_work, &pool->mutex);
	}
	pthread_mutex_unlock(&pool->mutex);
	return NULL;
}

enum status search_pool_new(struct search_pool **out, unsigned threads, uint32_t match_steps, struct error *err)
{
	AUTO(search_pool) pool = mem_zeroed(sizeof *pool);

	if (!pool)
		return error_no_memory(err);
	pthread_mutex_init(&pool->mutex, NULL);
	pthread_cond_init(&pool->has_work, NULL);
	pthread_cond_init(&pool->has_ended, NULL);
	for (unsigned i = 0; i < threads && i < THREADS_MAX; i++) {
		struct member *member = &pool->members[i];
		member->pool = pool;
		if (!search_hand_init(&member->hand, match_steps) ||
			pthread_create(&member->thread, NULL, member_run, member) != 0) {
			search_hand_done(&member->hand);
			return error_set(err, ERR_MEMORY, "cannot start search thread %u", i);
		}
		pool->count++;
	}
	*out = TAKE(pool);
	return OK;
}

void search_pool_free(struct search_pool *pool)
{
	if (!pool)
		return;
	pthread_mutex_lock(&pool->mutex);
	pool->must_end = true;
	pthread_cond_broadcast(&pool->has_work);
	pthread_mutex_unlock(&pool->mutex);
	for (unsigned i = 0; i < pool->count; i++) {
		pthread_join(pool->members[i].thread, NULL);
		search_hand_done(&pool->members[i].hand);
	}
	pthread_cond_destroy(&pool->has_work);
	pthread_cond_destroy(&pool->has_ended);
	pthread_mutex_destroy(&pool->mutex);
	mem_free(pool);
}

void search_pool_begin(struct search_pool *pool, struct search_task *task)
{
	struct search_task **last = &pool->tasks;

	task->next = task->done = 0;
	task->behind = NULL;
	if (!task->count)
		return;
	pthread_mutex_lock(&pool->mutex);
	while (*last)
		last = &(*last)->behind;
	*last = task;
	pthread_cond_broadcast(&pool->has_work);
	pthread_mutex_unlock(&pool->mutex);
}

void search_pool_finish(
	struct search_pool *pool, struct search_hand *own, struct search_task *task, struct search_task *then)
{
	pthread_mutex_lock(&pool->mutex);
	while (task->done < task->count) {
		if (task->next < task->count)
			take_one(pool, task, own);
		else if (then && then->next < then->count)
			take_one(pool, then, own);
		else
			pthread_cond_wait(&pool->has_ended, &pool->mutex);
	}
	pthread_mutex_unlock(&pool->mutex);
}
