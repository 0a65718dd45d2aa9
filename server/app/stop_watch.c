#include "app/stop_watch.h"

#include "app/exit_status.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "http/http.h"
#include "pipeline/pipeline.h"

#include <pthread.h>
#include <unistd.h>

enum {
	LOOK_MS = 100,
	WAITS_MS = 1000, /* a database that answers sooner works */
	HANGS_LEAST_MS = 15 * 1000, /* carrying a large journal over is work, too, and does not say how far it is */
};

struct stop_watch {
	int64_t start_ms, stop_ms;
	pthread_t thread;
	pthread_mutex_t mutex; /* of everything below; whoever uses server or pipeline holds it */
	pthread_cond_t ended;
	struct http_server *server; /* NULL: it is being freed */
	const struct pipeline *pipeline; /* NULL: its threads have ended */
	int64_t closing_ms; /* since when the database is being closed */
	bool has_ended;
};

/* With the mutex held, which is free meanwhile. */
static void wait_ms(struct stop_watch *watch, int64_t ms)
{
	struct timespec until = clock_deadline(ms);

	for (int result = 0; !watch->has_ended && result == 0;)
		result = pthread_cond_timedwait(&watch->ended, &watch->mutex, &until);
}

static void give_up_connections(struct stop_watch *watch)
{
	log_line(LOG_WARNING, "stop_gives_up", "error=\"no answer of the database for those who sent something\"");
	http_server_give_up(watch->server);
}

/* How long the database has been at one thing; or has refused everything, which may have begun long before the stop and says nothing of it. */
static int64_t hangs_ms(const struct stop_watch *watch)
{
	int64_t now_ms = clock_mono_ms();

	if (!watch->pipeline)
		return now_ms - watch->closing_ms;
	int64_t writing_ms = pipeline_writing_ms(watch->pipeline), failing_ms = pipeline_failing_ms(watch->pipeline);
	int64_t since_stop_ms = now_ms - watch->start_ms;
	failing_ms = failing_ms < since_stop_ms ? failing_ms : since_stop_ms;
	return writing_ms > failing_ms ? writing_ms : failing_ms;
}

static void end_process(const struct stop_watch *watch, int64_t ms)
{
	log_line(LOG_ERROR, "stop_forced",
		"ms=%lld error=\"the database has hung for %lld ms; what was acknowledged is read again at the next start\"",
		(long long)(clock_mono_ms() - watch->start_ms), (long long)ms);
	_exit(EXIT_FAILED); /* nothing that exit() runs could end before the thread that hangs */
}

static void *watch_run(void *context)
{
	struct stop_watch *watch = context;

	pthread_setname_np(pthread_self(), "stop-watch");
	pthread_mutex_lock(&watch->mutex);
	wait_ms(watch, watch->stop_ms * 3 / 4);
	for (bool has_given_up = false; !watch->has_ended; wait_ms(watch, LOOK_MS)) {
		int64_t ms = hangs_ms(watch), waits_ms = watch->stop_ms / 4;
		if (watch->server && !has_given_up && ms >= (waits_ms < WAITS_MS ? waits_ms : WAITS_MS)) {
			give_up_connections(watch);
			has_given_up = true;
		}
		bool is_late = clock_mono_ms() - watch->start_ms >= watch->stop_ms;
		if (is_late && ms >= watch->stop_ms && ms >= HANGS_LEAST_MS)
			end_process(watch, ms);
	}
	pthread_mutex_unlock(&watch->mutex);
	return NULL;
}

static void destroy(struct stop_watch *watch)
{
	pthread_cond_destroy(&watch->ended);
	pthread_mutex_destroy(&watch->mutex);
	mem_free(watch);
}

void stop_watch_start(
	struct stop_watch **out, struct http_server *server, const struct pipeline *pipeline, int64_t stop_ms)
{
	struct stop_watch *watch = mem_zeroed(sizeof *watch);
	pthread_condattr_t monotonic;

	if (!watch)
		return;
	watch->start_ms = watch->closing_ms = clock_mono_ms();
	watch->stop_ms = stop_ms;
	watch->server = server;
	watch->pipeline = pipeline;
	pthread_mutex_init(&watch->mutex, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&watch->ended, &monotonic);
	pthread_condattr_destroy(&monotonic);
	if (pthread_create(&watch->thread, NULL, watch_run, watch) == 0)
		*out = watch;
	else
		destroy(watch);
}

void stop_watch_leave_server(struct stop_watch *watch)
{
	if (!watch)
		return;
	pthread_mutex_lock(&watch->mutex);
	watch->server = NULL;
	pthread_mutex_unlock(&watch->mutex);
}

void stop_watch_leave_pipeline(struct stop_watch *watch)
{
	if (!watch)
		return;
	pthread_mutex_lock(&watch->mutex);
	watch->pipeline = NULL;
	watch->closing_ms = clock_mono_ms();
	pthread_mutex_unlock(&watch->mutex);
}

void stop_watch_end(struct stop_watch *watch)
{
	if (!watch)
		return;
	pthread_mutex_lock(&watch->mutex);
	watch->has_ended = true;
	pthread_cond_signal(&watch->ended);
	pthread_mutex_unlock(&watch->mutex);
	pthread_join(watch->thread, NULL);
	destroy(watch);
}
