
#include "collect/collector.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/log.h"
#include "collect/follow.h"
#include "store/store.h"

#include <pthread.h>
#include <time.h>

enum { FIRST_BACKOFF_MS = 1000, LONGEST_BACKOFF_MS = 300000 };

struct collector {
	struct collector_options options;
	struct collector_figures figures;
	struct follow follow;
	pthread_t thread;
	bool has_thread;
	pthread_mutex_t mutex;
	pthread_cond_t cond;
	atomic_bool is_stopping;
	bool is_woken;
};

static enum status round_of(struct collector *collector, struct error *err)
{
	TRY(follow_jobs(&collector->follow, err));
	return follow_logs(&collector->follow, err);
}

/* True: it goes on. A wake ends a wait between rounds, but not one for a service that is throttled. */
static bool wait_for(struct collector *collector, int64_t wait_ms, bool is_backoff)
{
	struct timespec until = clock_deadline(wait_ms);
	int code = 0;

	pthread_mutex_lock(&collector->mutex);
	while (code == 0 && !collector->is_stopping && (is_backoff || !collector->is_woken))
		code = pthread_cond_timedwait(&collector->cond, &collector->mutex, &until);
	collector->is_woken = false;
	bool goes_on = !collector->is_stopping;
	pthread_mutex_unlock(&collector->mutex);
	return goes_on;
}

static void *run(void *context)
{
	struct collector *collector = context;
	int64_t backoff_ms = 0, wait_ms;

	pthread_setname_np(pthread_self(), "collector");
	do {
		struct error err = {0};
		if (round_of(collector, &err) == OK) {
			backoff_ms = 0;
			wait_ms = collector->follow.has_more ? 0 : collector->options.every_ms;
			continue;
		}
		if (err.status == ERR_UNAVAILABLE && collector->is_stopping)
			break;
		atomic_fetch_add(&collector->figures.failures, 1);
		backoff_ms = backoff_ms ? backoff_ms * 2 : FIRST_BACKOFF_MS;
		wait_ms = backoff_ms = backoff_ms < LONGEST_BACKOFF_MS ? backoff_ms : LONGEST_BACKOFF_MS;
		log_line(LOG_WARNING, "collect_failed", "again_ms=%lld reason=\"%s\"", (long long)wait_ms, err.text);
	} while (wait_for(collector, wait_ms, backoff_ms != 0));
	return NULL;
}

void collector_wake(struct collector *collector)
{
	pthread_mutex_lock(&collector->mutex);
	collector->is_woken = true;
	pthread_cond_signal(&collector->cond);
	pthread_mutex_unlock(&collector->mutex);
}

void collector_write_metrics(const struct collector *collector, struct buf *out)
{
	const struct collector_figures *f = &collector->figures;
	const struct {
		const char *name, *help;
		const atomic_uint_fast64_t *value;
	} rows[] = {{"requests", "Requests of the collector.", &f->requests},
		{"throttled", "Of these, answered by a refusal for being too many, or by a failure of the service.",
			&f->throttled},
		{"failures", "Rounds that ended early, and jobs that were refused here.", &f->failures},
		{"jobs", "Descriptions of jobs that were taken.", &f->jobs},
		{"lines", "Log lines collected.", &f->lines}};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		buf_printf(out,
			"# HELP smfleet_collect_%s_total %s\n# TYPE smfleet_collect_%s_total counter\nsmfleet_collect_%s_total %llu\n",
			rows[i].name, rows[i].help, rows[i].name, rows[i].name,
			(unsigned long long)atomic_load(rows[i].value));
}

static void free_jobs(struct map *jobs)
{
	size_t at = 0;
	void *value;

	while (jobs && map_next(jobs, &at, NULL, &value)) {
		struct followed_job *job = value;
		follow_free_streams(job);
		buf_done(&job->name);
		mem_free(job);
	}
	map_free(jobs);
}

void collector_free(struct collector *collector)
{
	if (!collector)
		return;
	if (collector->has_thread) {
		pthread_mutex_lock(&collector->mutex);
		collector->is_stopping = true;
		pthread_cond_signal(&collector->cond);
		pthread_mutex_unlock(&collector->mutex);
		calls_stop(collector->follow.calls);
		pthread_join(collector->thread, NULL);
	}
	free_jobs(collector->follow.jobs);
	calls_free(collector->follow.calls);
	store_reader_free(collector->follow.reader);
	pthread_cond_destroy(&collector->cond);
	pthread_mutex_destroy(&collector->mutex);
	mem_free(collector);
}

static enum status open_follow(struct collector *collector, struct error *err)
{
	struct follow *follow = &collector->follow;

	follow->options = &collector->options;
	follow->figures = &collector->figures;
	follow->since_ms = clock_wall_ms() - collector->options.since_ms;
	if (!(follow->jobs = map_new()))
		return error_no_memory(err);
	TRY(store_reader_new(&follow->reader, collector->options.store, err));
	return calls_new(&follow->calls, &collector->options, &collector->figures, err);
}

enum status collector_start(struct collector **out, const struct collector_options *options, struct error *err)
{
	AUTO(collector) collector = mem_zeroed(sizeof *collector);
	pthread_condattr_t attributes;

	if (!collector)
		return error_no_memory(err);
	collector->options = *options;
	pthread_mutex_init(&collector->mutex, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&collector->cond, &attributes);
	pthread_condattr_destroy(&attributes);
	TRY(open_follow(collector, err));
	if (pthread_create(&collector->thread, NULL, run, collector) != 0)
		return error_set(err, ERR_MEMORY, "cannot start the thread of the collector");
	collector->has_thread = true;
	*out = TAKE(collector);
	return OK;
}
