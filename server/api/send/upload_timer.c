#include "api/send/upload_timer.h"

#include "api/core/tokens.h"
#include "api/send/upload.h"
#include "base/clock.h"

#include <string.h>

enum { ROUND_MS = 50 };

struct upload_timer {
	struct api *api;
	pthread_t thread;
	pthread_mutex_t mutex;
	pthread_cond_t stop;
	bool must_stop;
};

static bool wait_round(struct upload_timer *timer)
{
	struct timespec until = clock_deadline(ROUND_MS);

	pthread_mutex_lock(&timer->mutex);
	for (int result = 0; !timer->must_stop && result == 0;)
		result = pthread_cond_timedwait(&timer->stop, &timer->mutex, &until);
	bool goes_on = !timer->must_stop;
	pthread_mutex_unlock(&timer->mutex);
	return goes_on;
}

static void *timer_run(void *context)
{
	struct upload_timer *timer = context;

	pthread_setname_np(pthread_self(), "uploads");
	while (wait_round(timer)) {
		tokens_tick(timer->api);
		uploads_hand_over(timer->api, clock_mono_ms());
	}
	return NULL;
}

enum status upload_timer_start(struct upload_timer **out, struct api *api, struct error *err)
{
	struct upload_timer *timer = mem_zeroed(sizeof *timer);
	pthread_condattr_t monotonic;

	if (!timer)
		return error_no_memory(err);
	timer->api = api;
	pthread_mutex_init(&timer->mutex, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&timer->stop, &monotonic);
	pthread_condattr_destroy(&monotonic);
	int code = pthread_create(&timer->thread, NULL, timer_run, timer);
	if (code == 0) {
		*out = timer;
		return OK;
	}
	pthread_cond_destroy(&timer->stop);
	pthread_mutex_destroy(&timer->mutex);
	mem_free(timer);
	return error_set(err, ERR_UNAVAILABLE, "cannot start the thread of uploads: %s", strerror(code));
}

void upload_timer_stop(struct upload_timer *timer)
{
	if (!timer)
		return;
	pthread_mutex_lock(&timer->mutex);
	timer->must_stop = true;
	pthread_cond_signal(&timer->stop);
	pthread_mutex_unlock(&timer->mutex);
	pthread_join(timer->thread, NULL);
	pthread_cond_destroy(&timer->stop);
	pthread_mutex_destroy(&timer->mutex);
	mem_free(timer);
}
