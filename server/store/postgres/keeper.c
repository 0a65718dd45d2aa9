/* The lease for as long as a server runs: waited for, kept by a thread of its own, given back. */
#include "base/clock.h"
#include "base/log.h"
#include "store/postgres/postgres_store.h"

#include <pthread.h>

enum { RENEW_MS = 2000, AGAIN_MIN_MS = 200 };

struct postgres_keeper {
	struct postgres_lease *lease;
	struct store *store;
	struct store_ownership ownership;
	pthread_t thread;
	pthread_mutex_t mutex;
	pthread_cond_t stop;
	bool must_stop;
	bool is_late; /* the last renewal failed */
};

/* False: it is over. */
static bool wait_for(struct postgres_keeper *keeper, int64_t ms)
{
	struct timespec until = clock_deadline(ms);

	pthread_mutex_lock(&keeper->mutex);
	for (int result = 0; !keeper->must_stop && result == 0;)
		result = pthread_cond_timedwait(&keeper->stop, &keeper->mutex, &until);
	bool goes_on = !keeper->must_stop;
	pthread_mutex_unlock(&keeper->mutex);
	return goes_on;
}

static bool renew(struct postgres_keeper *keeper)
{
	struct error err = {0};
	bool was_late = keeper->is_late;

	keeper->is_late = postgres_lease_renew(keeper->lease, &err) != OK;
	if (keeper->is_late != was_late)
		log_line(keeper->is_late ? LOG_WARNING : LOG_INFO,
			keeper->is_late ? "lease_not_renewed" : "lease_renewed", "error=\"%s\"", err.text);
	return !keeper->is_late;
}

/* Until the store is not ours any more, or must be read anew: then a start is what is needed. */
static void *keep(void *context)
{
	struct postgres_keeper *keeper = context;
	struct error why = {0};
	int64_t wait_ms = RENEW_MS;

	pthread_setname_np(pthread_self(), "lease");
	while (wait_for(keeper, wait_ms)) {
		bool was_late = keeper->is_late;
		bool is_late = !renew(keeper);
		/* A database that is away is asked soon at first, then no more often than one that is there. */
		wait_ms = !is_late                 ? RENEW_MS
			  : !was_late              ? AGAIN_MIN_MS
			  : wait_ms * 2 < RENEW_MS ? wait_ms * 2
						   : RENEW_MS;
		if (fence_look(keeper->store, &why) == OK)
			continue;
		if (keeper->ownership.ended)
			keeper->ownership.ended(keeper->ownership.context, &why);
		break;
	}
	return NULL;
}

static enum status start(struct postgres_keeper *keeper, struct error *err)
{
	pthread_condattr_t monotonic;

	pthread_mutex_init(&keeper->mutex, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&keeper->stop, &monotonic);
	pthread_condattr_destroy(&monotonic);
	int code = pthread_create(&keeper->thread, NULL, keep, keeper);
	if (code == 0)
		return OK;
	pthread_cond_destroy(&keeper->stop);
	pthread_mutex_destroy(&keeper->mutex);
	return error_set(err, ERR_UNAVAILABLE, "cannot start the thread of the lease: %s", strerror(code));
}

/* Once it is known that somebody has it, a database that is away is waited for, too. */
static enum status wait_for_lease(
	struct postgres_lease *lease, const struct store_ownership *ownership, struct error *err)
{
	bool has_waited = false;

	for (;;) {
		struct error why = {0};
		enum status status = postgres_lease_take(lease, &why);
		bool is_held =
			status == ERR_CONFLICT || (has_waited && (status == ERR_UNAVAILABLE || status == ERR_BUSY));
		if (is_held && ownership->waits && ownership->waits(ownership->context, &why)) {
			has_waited = true;
			continue;
		}
		if (err)
			*err = why;
		return status;
	}
}

enum status postgres_keeper_start(struct store *store, const struct store_ownership *ownership, struct error *err)
{
	struct postgres_keeper *keeper = mem_zeroed(sizeof *keeper);

	if (!keeper)
		return error_no_memory(err);
	keeper->store = store;
	if (ownership)
		keeper->ownership = *ownership;
	const struct postgres_lease_options options = {
		.owner = keeper->ownership.name ? keeper->ownership.name : "sm-server"};
	enum status status = postgres_lease_new(&keeper->lease, store, &options, err);
	if (status == OK)
		status = wait_for_lease(keeper->lease, &keeper->ownership, err);
	if (status == OK)
		status = start(keeper, err);
	if (status != OK) {
		postgres_lease_free(keeper->lease);
		mem_free(keeper);
		return status;
	}
	postgres_store_of(store)->keeper = keeper;
	return OK;
}

void postgres_keeper_stop(struct postgres_keeper *keeper)
{
	struct error err = {0};

	if (!keeper)
		return;
	pthread_mutex_lock(&keeper->mutex);
	keeper->must_stop = true;
	pthread_cond_signal(&keeper->stop);
	pthread_mutex_unlock(&keeper->mutex);
	pthread_join(keeper->thread, NULL);
	/* Without it the next server waits until the lease ends by itself. */
	if (postgres_lease_release(keeper->lease, &err) != OK)
		log_line(LOG_WARNING, "lease_not_released", "error=\"%s\"", err.text);
	pthread_cond_destroy(&keeper->stop);
	pthread_mutex_destroy(&keeper->mutex);
	postgres_lease_free(keeper->lease);
	mem_free(keeper);
}
