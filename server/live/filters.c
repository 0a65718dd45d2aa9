#include "live/filters.h"
#include "base/clock.h"

#include <inttypes.h>
#include <pthread.h>

enum { MATCH_STEPS = 100000, EVENT_MS = 50, HEARTBEAT_MS = 15000, EVENT_MAX_BYTES = 4 << 20, LOOK_MS = 1000 };

struct filtered {
	struct filtered *next;
	struct filters *filters;
	struct subscriber *subscriber;
	struct filter *filter;
	void (*wake)(void *context);
	void *context;
	struct buf out; /* being sent; while there is something the hub is not read, and resyncs who is too slow */
	size_t sent;
	uint64_t seq; /* of the newest event that was looked at */
	int64_t active_ms; /* when it was last given something */
	bool is_due; /* the hub may have something */
	bool is_over; /* the hub was closed, or memory is short */
	bool is_gone; /* its opener has left: the thread frees it */
};

struct filters {
	struct filters_options options;
	pthread_t thread;
	bool has_thread;
	/* Taken after the hub's own, since the hub wakes us: under it the hub is not called. */
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	struct filtered *first; /* the next to be served first */
	bool must_end;
	struct filter_work work; /* the thread's */
	struct buf event, found; /* the thread's */
};

/* ---- the thread: one event of one subscriber at a time, in turn ---- */

/* Under the mutex. Who was there moves to the end. */
static struct filtered *take_next(struct filters *filters)
{
	struct filtered **at = &filters->first, *found;

	while (*at && !(*at)->is_gone && !((*at)->is_due && !(*at)->out.len))
		at = &(*at)->next;
	found = *at;
	if (!found)
		return NULL;
	*at = TAKE(found->next);
	found->is_due = false; /* before the hub is read: a wake that comes from now on is kept */
	if (found->is_gone)
		return found;
	while (*at)
		at = &(*at)->next;
	*at = found;
	return found;
}

static void filtered_free(struct filtered *filtered)
{
	hub_unsubscribe(filtered->filters->options.hub, filtered->subscriber);
	filter_free(filtered->filter);
	buf_done(&filtered->out);
	mem_free(filtered);
}

/* Without the mutex: matching may take its time. The result is hub_read's; what is to be sent is in found. */
static ssize_t read_event(struct filters *filters, struct filtered *filtered)
{
	struct hub_event event = {0};

	buf_reset(&filters->event);
	buf_reset(&filters->found);
	ssize_t bytes = hub_read_event(filters->options.hub, filtered->subscriber, &filters->event, &event);
	if (event.kind == HUB_LINES)
		filter_event(filtered->filter, &filters->work, buf_span(&filters->event), &filters->found);
	else
		buf_append_span(&filters->found, buf_span(&filters->event));
	if (event.seq)
		filtered->seq = event.seq;
	return filters->event.failure || filters->found.failure ? -1 : bytes;
}

/* Under the mutex. */
static void hand_over(struct filters *filters, struct filtered *filtered, ssize_t bytes)
{
	if (filtered->is_gone)
		return;
	filtered->is_over |= bytes < 0;
	filtered->is_due |= bytes > 0;
	if (bytes > 0)
		buf_append_span(&filtered->out, buf_span(&filters->found));
	filtered->is_over |= filtered->out.failure != OK;
	if (!filtered->out.len && !filtered->is_over)
		return;
	filtered->active_ms = clock_mono_ms();
	filtered->wake(filtered->context);
}

/* Under the mutex. A comment, also so that a connection that was lost is noticed; the place, so that who comes back does
 * not begin where the last match was. */
static void send_heartbeats(struct filters *filters)
{
	int64_t now_ms = clock_mono_ms();

	for (struct filtered *at = filters->first; at; at = at->next) {
		if (at->is_gone || at->out.len || now_ms - at->active_ms < filters->options.heartbeat_ms)
			continue;
		if (at->seq)
			buf_printf(&at->out, "id: %" PRIu64 "\n", at->seq);
		buf_append_text(&at->out, ":\n\n");
		at->active_ms = now_ms;
		at->wake(at->context);
	}
}

static void wait_a_little(struct filters *filters)
{
	struct timespec until = clock_deadline(LOOK_MS);

	pthread_cond_timedwait(&filters->changed, &filters->mutex, &until);
	send_heartbeats(filters);
}

static void *filters_run(void *context)
{
	struct filters *filters = context;

	pthread_setname_np(pthread_self(), "live-filter");
	pthread_mutex_lock(&filters->mutex);
	for (;;) {
		struct filtered *filtered = take_next(filters);
		if (!filtered && filters->must_end)
			break;
		if (!filtered) {
			wait_a_little(filters);
			continue;
		}
		bool is_gone = filtered->is_gone;
		pthread_mutex_unlock(&filters->mutex);
		ssize_t bytes = is_gone ? 0 : read_event(filters, filtered);
		if (is_gone)
			filtered_free(filtered);
		pthread_mutex_lock(&filters->mutex);
		if (!is_gone)
			hand_over(filters, filtered, bytes);
	}
	pthread_mutex_unlock(&filters->mutex);
	return NULL;
}

/* ---- any thread ---- */

enum status filters_start(struct filters **out, const struct filters_options *options, struct error *err)
{
	AUTO(filters) filters = mem_zeroed(sizeof *filters);
	pthread_condattr_t attributes;

	if (!filters)
		return error_no_memory(err);
	filters->options = *options;
	if (!filters->options.match_steps)
		filters->options.match_steps = MATCH_STEPS;
	if (!filters->options.heartbeat_ms)
		filters->options.heartbeat_ms = HEARTBEAT_MS;
	pthread_mutex_init(&filters->mutex, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&filters->changed, &attributes);
	pthread_condattr_destroy(&attributes);
	filters->event = filters->found = BUF_INIT(EVENT_MAX_BYTES);
	filters->work = (struct filter_work){.scratch = regex_scratch_new(),
		.event_ms = options->event_ms ? options->event_ms : EVENT_MS,
		.stream = BUF_INIT(EVENT_MAX_BYTES),
		.text = BUF_INIT(EVENT_MAX_BYTES)};
	if (!filters->work.scratch)
		return error_no_memory(err);
	regex_scratch_limit(filters->work.scratch, filters->options.match_steps);
	if (pthread_create(&filters->thread, NULL, filters_run, filters))
		return error_set(err, ERR_MEMORY, "no thread for the filters of live lines");
	filters->has_thread = true;
	*out = TAKE(filters);
	return OK;
}

void filters_free(struct filters *filters)
{
	if (!filters)
		return;
	pthread_mutex_lock(&filters->mutex);
	filters->must_end = true;
	pthread_cond_signal(&filters->changed);
	pthread_mutex_unlock(&filters->mutex);
	if (filters->has_thread)
		pthread_join(filters->thread, NULL);
	regex_scratch_free(filters->work.scratch);
	buf_done(&filters->work.stream);
	buf_done(&filters->work.text);
	buf_done(&filters->event);
	buf_done(&filters->found);
	pthread_cond_destroy(&filters->changed);
	pthread_mutex_destroy(&filters->mutex);
	mem_free(filters);
}

/* From the hub. */
static void mark_due(void *context)
{
	struct filtered *filtered = context;
	struct filters *filters = filtered->filters;

	pthread_mutex_lock(&filters->mutex);
	filtered->is_due = true;
	pthread_cond_signal(&filters->changed);
	pthread_mutex_unlock(&filters->mutex);
}

enum status filters_subscribe(struct filters *filters, struct filtered **out, const struct filter_spec *spec,
	const struct hub_wish *wish, void (*wake)(void *context), void *context, struct error *err)
{
	AUTO(filter) filter = NULL;
	AUTO_MEM struct filtered *filtered = mem_zeroed(sizeof *filtered);

	if (!filtered)
		return error_no_memory(err);
	TRY(filter_new(&filter, spec, err));
	*filtered = (struct filtered){.filters = filters,
		.filter = filter,
		.wake = wake,
		.context = context,
		.out = BUF_INIT(EVENT_MAX_BYTES),
		.active_ms = clock_mono_ms(),
		.is_due = true};
	TRY(hub_subscribe(filters->options.hub, &filtered->subscriber, wish, mark_due, filtered, err));
	pthread_mutex_lock(&filters->mutex);
	filtered->next = filters->first;
	filters->first = filtered;
	pthread_cond_signal(&filters->changed);
	pthread_mutex_unlock(&filters->mutex);
	*out = filtered;
	filter = NULL;
	filtered = NULL;
	return OK;
}

void filters_unsubscribe(struct filtered *filtered)
{
	struct filters *filters = filtered->filters;

	pthread_mutex_lock(&filters->mutex);
	filtered->is_gone = true;
	pthread_cond_signal(&filters->changed);
	pthread_mutex_unlock(&filters->mutex);
}

ssize_t filters_read(struct filtered *filtered, char *out, size_t room)
{
	struct filters *filters = filtered->filters;

	pthread_mutex_lock(&filters->mutex);
	size_t left = filtered->out.len - filtered->sent, part = left < room ? left : room;
	if (part)
		memcpy(out, filtered->out.ptr + filtered->sent, part);
	filtered->sent += part;
	if (part && part == left) { /* idle subscribers cost no memory */
		buf_done(&filtered->out);
		filtered->out = BUF_INIT(EVENT_MAX_BYTES);
		filtered->sent = 0;
		pthread_cond_signal(&filters->changed);
	}
	bool is_over = !part && filtered->is_over;
	pthread_mutex_unlock(&filters->mutex);
	return is_over ? -1 : (ssize_t)part;
}
