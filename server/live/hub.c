#include "live/hub.h"
#include "live/interest.h"
#include "live/ring.h"
#include "live/skips.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>

enum {
	DEFAULT_RING_BYTES = 8 << 20,
	DEFAULT_RING_MS = 60000,
	DEFAULT_SUBSCRIBERS = 256,
	DEFAULT_LAG_BYTES = 1 << 20,
	DEFAULT_HEARTBEAT_MS = 15000,
	NOTICE_BYTES = 128,
};

struct wanted_job {
	uint64_t hash;
	struct span name;
};

/* What is sent beside frames, in this order. */
enum { NOTICE_HELLO = 1, NOTICE_RESYNC = 2, NOTICE_HEARTBEAT = 4 };

struct subscriber {
	struct subscriber *next;
	struct subscriber *previous;
	void (*wake)(void *context);
	void *context;
	unsigned kinds;
	uint64_t cursor; /* the next frame to look at */
	uint64_t scanned; /* frames below it are counted in pending_bytes, or not wanted */
	size_t pending_bytes; /* of the wanted frames from cursor to scanned */
	struct frame *frame; /* being sent, holds a reference */
	size_t frame_sent;
	unsigned notices;
	char notice[NOTICE_BYTES]; /* being sent */
	size_t notice_len;
	size_t notice_sent;
	int64_t active_ms; /* when it was last given something */
	bool is_woken; /* and has not read until nothing was left */
	bool is_of_team; /* of jobs of this one alone */
	char team[HUB_TEAM_BYTES];
	size_t job_count; /* 0: all */
	struct wanted_job jobs[];
};

struct hub {
	/* Held while wakes run, so that hub_unsubscribe can wait for their end. Taken before mutex. */
	pthread_mutex_t wake_mutex;
	pthread_mutex_t mutex; /* all below */
	struct hub_options options;
	struct ring ring;
	struct interest *interest;
	struct subscriber *subscribers;
	size_t subscriber_count;
	struct subscriber **to_wake; /* room for max_subscribers; used under wake_mutex */
	uint64_t flushed; /* frames below it may be read */
	uint64_t seq; /* the newest known */
	uint64_t covered_from; /* all frames of sequences from here on are in the ring */
	struct skips *skips;
	bool has_seq;
	bool is_closed;
	int64_t now_ms; /* of the last flush */
	uint64_t resyncs;
	uint64_t frames;
};

static const struct hub_options defaults = {
	DEFAULT_RING_BYTES, DEFAULT_RING_MS, DEFAULT_SUBSCRIBERS, DEFAULT_LAG_BYTES, DEFAULT_HEARTBEAT_MS};

struct hub *hub_new(const struct hub_options *options)
{
	AUTO(hub) hub = mem_zeroed(sizeof *hub);

	if (!hub)
		return NULL;
	pthread_mutex_init(&hub->wake_mutex, NULL);
	pthread_mutex_init(&hub->mutex, NULL);
	hub->options = (struct hub_options){
		options->ring_bytes ? options->ring_bytes : defaults.ring_bytes,
		options->ring_ms ? options->ring_ms : defaults.ring_ms,
		options->max_subscribers ? options->max_subscribers : defaults.max_subscribers,
		options->max_lag_bytes ? options->max_lag_bytes : defaults.max_lag_bytes,
		options->heartbeat_ms ? options->heartbeat_ms : defaults.heartbeat_ms,
	};
	hub->interest = interest_new();
	hub->skips = skips_new();
	hub->to_wake = mem_resize(NULL, hub->options.max_subscribers, sizeof(struct subscriber *));
	if (!hub->interest || !hub->skips || !hub->to_wake)
		return NULL;
	return TAKE(hub);
}

void hub_free(struct hub *hub)
{
	if (!hub)
		return;
	ring_done(&hub->ring);
	interest_free(hub->interest);
	skips_free(hub->skips);
	mem_free(hub->to_wake);
	pthread_mutex_destroy(&hub->mutex);
	pthread_mutex_destroy(&hub->wake_mutex);
	mem_free(hub);
}

/* Names lie behind the array, in one block with it. */
static struct subscriber *subscriber_new(const struct span *jobs, size_t job_count)
{
	size_t name_bytes = 0;

	for (size_t i = 0; i < job_count; i++)
		name_bytes += jobs[i].len;
	struct subscriber *subscriber =
		mem_zeroed(sizeof *subscriber + job_count * sizeof *subscriber->jobs + name_bytes);
	if (!subscriber)
		return NULL;
	char *at = (char *)&subscriber->jobs[job_count];
	for (size_t i = 0; i < job_count; i++) {
		if (jobs[i].len)
			memcpy(at, jobs[i].ptr, jobs[i].len);
		subscriber->jobs[i] = (struct wanted_job){span_hash(jobs[i]), span_of(at, jobs[i].len)};
		at += jobs[i].len;
	}
	subscriber->job_count = job_count;
	return subscriber;
}

static void remove_interest(struct hub *hub, const struct subscriber *subscriber, size_t job_count)
{
	if (subscriber->job_count == 0)
		interest_remove(hub->interest, span_of(NULL, 0), subscriber->kinds, hub->now_ms);
	for (size_t i = 0; i < job_count; i++)
		interest_remove(hub->interest, subscriber->jobs[i].name, subscriber->kinds, hub->now_ms);
}

static bool add_interest(struct hub *hub, const struct subscriber *subscriber)
{
	if (subscriber->job_count == 0)
		return interest_add(hub->interest, span_of(NULL, 0), subscriber->kinds);
	for (size_t i = 0; i < subscriber->job_count; i++)
		if (!interest_add(hub->interest, subscriber->jobs[i].name, subscriber->kinds)) {
			remove_interest(hub, subscriber, i);
			return false;
		}
	return true;
}

static bool wants_job(const struct subscriber *subscriber, uint64_t hash, struct span job)
{
	for (size_t i = 0; i < subscriber->job_count; i++)
		if (subscriber->jobs[i].hash == hash && span_equal(subscriber->jobs[i].name, job))
			return true;
	return subscriber->job_count == 0;
}

static bool wants(const struct subscriber *subscriber, const struct frame *frame)
{
	return (subscriber->kinds & frame->kind) && wants_job(subscriber, frame->job_hash, frame->job) &&
	       (!subscriber->is_of_team || (frame->team.len && span_equal(frame->team, span_from(subscriber->team))));
}

static void resync(struct hub *hub, struct subscriber *subscriber)
{
	subscriber->notices |= NOTICE_RESYNC;
	subscriber->cursor = subscriber->scanned = hub->flushed;
	subscriber->pending_bytes = 0;
	hub->resyncs++;
}

/* Counts what is new for it. */
static void scan(struct hub *hub, struct subscriber *subscriber)
{
	if (subscriber->scanned < hub->ring.first_number && subscriber->scanned < hub->flushed) {
		resync(hub, subscriber); /* dropped before anybody looked */
		return;
	}
	for (; subscriber->scanned < hub->flushed; subscriber->scanned++) {
		const struct frame *frame = ring_at(&hub->ring, subscriber->scanned);
		if (wants(subscriber, frame))
			subscriber->pending_bytes += frame->text.len;
	}
	if (!subscriber->pending_bytes)
		subscriber->cursor = subscriber->scanned;
	else if (subscriber->pending_bytes > hub->options.max_lag_bytes || subscriber->cursor < hub->ring.first_number)
		resync(hub, subscriber);
}

/* Up to where something that the subscriber wants was not rendered. */
static uint64_t skipped_to(const struct hub *hub, const struct subscriber *subscriber)
{
	static const enum hub_kind kinds[] = {HUB_POINTS, HUB_LINES, HUB_POOL};
	uint64_t floor = 0;

	for (size_t j = 0; j < sizeof kinds / sizeof *kinds; j++) {
		if (!(subscriber->kinds & kinds[j]))
			continue;
		uint64_t all = subscriber->job_count == 0 ? skips_of_all(hub->skips, kinds[j]) : 0;
		floor = all > floor ? all : floor;
		for (size_t i = 0; i < subscriber->job_count; i++) {
			uint64_t known = skips_of_job(hub->skips, subscriber->jobs[i].name, kinds[j]);
			floor = known > floor ? known : floor;
		}
	}
	return floor;
}

static void start_at(struct hub *hub, struct subscriber *subscriber, uint64_t after)
{
	subscriber->notices = NOTICE_HELLO;
	subscriber->active_ms = hub->now_ms;
	subscriber->cursor = subscriber->scanned = hub->flushed;
	if (after == UINT64_MAX)
		return;
	if (after < hub->covered_from || after < skipped_to(hub, subscriber) || after > hub->seq) {
		resync(hub, subscriber);
		return;
	}
	uint64_t number = hub->ring.first_number;
	while (number < hub->flushed && ring_at(&hub->ring, number)->seq < after)
		number++;
	subscriber->cursor = subscriber->scanned = number;
	scan(hub, subscriber);
}

static enum status subscribe(struct hub *hub, struct subscriber *subscriber, uint64_t after, struct error *err)
{
	if (hub->is_closed)
		return error_set(err, ERR_UNAVAILABLE, "the server is stopping");
	if (hub->subscriber_count >= hub->options.max_subscribers) {
		error_set(
			err, ERR_BUSY, "%zu event streams are open already (--max-subscribers)", hub->subscriber_count);
		if (err)
			err->retry_after_s = 5;
		return ERR_BUSY;
	}
	if (!add_interest(hub, subscriber))
		return error_no_memory(err);
	start_at(hub, subscriber, after);
	subscriber->next = hub->subscribers;
	if (hub->subscribers)
		hub->subscribers->previous = subscriber;
	hub->subscribers = subscriber;
	hub->subscriber_count++;
	return OK;
}

enum status hub_subscribe(struct hub *hub, struct subscriber **out, const struct hub_wish *wish,
	void (*wake)(void *context), void *context, struct error *err)
{
	struct subscriber *subscriber = subscriber_new(wish->jobs, wish->job_count);

	if (!subscriber)
		return error_no_memory(err);
	subscriber->kinds = wish->kinds;
	subscriber->is_of_team = wish->team;
	snprintf(subscriber->team, sizeof subscriber->team, "%s", wish->team ? wish->team : "");
	subscriber->wake = wake;
	subscriber->context = context;
	subscriber->is_woken = true; /* its opener reads first */
	pthread_mutex_lock(&hub->mutex);
	enum status status = subscribe(hub, subscriber, wish->after, err);
	pthread_mutex_unlock(&hub->mutex);
	if (status)
		mem_free(subscriber);
	else
		*out = subscriber;
	return status;
}

void hub_unsubscribe(struct hub *hub, struct subscriber *subscriber)
{
	pthread_mutex_lock(&hub->wake_mutex);
	pthread_mutex_lock(&hub->mutex);
	remove_interest(hub, subscriber, subscriber->job_count);
	frame_unref(subscriber->frame);
	if (subscriber->previous)
		subscriber->previous->next = subscriber->next;
	else
		hub->subscribers = subscriber->next;
	if (subscriber->next)
		subscriber->next->previous = subscriber->previous;
	hub->subscriber_count--;
	pthread_mutex_unlock(&hub->mutex);
	pthread_mutex_unlock(&hub->wake_mutex);
	mem_free(subscriber);
}

static size_t copy_part(struct span all, size_t *sent, char *out, size_t room)
{
	size_t left = all.len - *sent, part = left < room ? left : room;

	memcpy(out, all.ptr + *sent, part);
	*sent += part;
	return part;
}

static void write_notice(const struct hub *hub, struct subscriber *subscriber)
{
	int len = 0;

	if (subscriber->notices & NOTICE_HELLO) {
		len = snprintf(subscriber->notice, NOTICE_BYTES, ": hello\nretry: 2000\n\n");
		subscriber->notices &= ~(unsigned)NOTICE_HELLO;
	} else if (subscriber->notices & NOTICE_RESYNC) {
		len = snprintf(subscriber->notice, NOTICE_BYTES,
			"id: %" PRIu64 "\nevent: resync\ndata: {\"seq\":\"%" PRIu64 "\"}\n\n", hub->seq, hub->seq);
		subscriber->notices &= ~(unsigned)NOTICE_RESYNC;
	} else if (subscriber->notices & NOTICE_HEARTBEAT) {
		len = snprintf(subscriber->notice, NOTICE_BYTES, ":\n\n");
		subscriber->notices = 0;
	}
	subscriber->notice_len = (size_t)len;
	subscriber->notice_sent = 0;
}

/* The next wanted frame becomes subscriber->frame; false: none. */
static bool take_frame(struct hub *hub, struct subscriber *subscriber)
{
	scan(hub, subscriber);
	while (subscriber->pending_bytes) {
		struct frame *frame = ring_at(&hub->ring, subscriber->cursor++);
		if (!wants(subscriber, frame))
			continue;
		subscriber->pending_bytes -= frame->text.len;
		subscriber->frame = frame;
		subscriber->frame_sent = 0;
		frame->references++;
		return true;
	}
	return false;
}

/* One thing at a time; 0: there is nothing. A frame that was begun is ended before anything else is said. */
static size_t read_some(struct hub *hub, struct subscriber *subscriber, char *out, size_t room)
{
	if (!subscriber->frame && subscriber->notice_sent == subscriber->notice_len) {
		bool has_frame = !subscriber->notices && take_frame(hub, subscriber);
		if (!has_frame)
			write_notice(hub, subscriber);
	}
	if (!subscriber->frame)
		return copy_part(
			span_of(subscriber->notice, subscriber->notice_len), &subscriber->notice_sent, out, room);
	size_t part = copy_part(subscriber->frame->text, &subscriber->frame_sent, out, room);
	if (subscriber->frame_sent == subscriber->frame->text.len) {
		frame_unref(subscriber->frame);
		subscriber->frame = NULL;
	}
	return part;
}

ssize_t hub_read(struct hub *hub, struct subscriber *subscriber, char *out, size_t room)
{
	size_t total = 0, part;

	pthread_mutex_lock(&hub->mutex);
	while (total < room && (part = read_some(hub, subscriber, out + total, room - total)))
		total += part;
	if (total)
		subscriber->active_ms = hub->now_ms;
	else
		subscriber->is_woken = false;
	bool is_over = !total && hub->is_closed;
	pthread_mutex_unlock(&hub->mutex);
	return is_over ? -1 : (ssize_t)total;
}

ssize_t hub_read_event(struct hub *hub, struct subscriber *subscriber, struct buf *out, struct hub_event *event)
{
	size_t before = out->len;

	pthread_mutex_lock(&hub->mutex);
	if (!subscriber->notices && take_frame(hub, subscriber)) {
		*event = (struct hub_event){subscriber->frame->kind, subscriber->frame->seq};
		buf_append_span(out, subscriber->frame->text);
		frame_unref(subscriber->frame);
		subscriber->frame = NULL;
	} else {
		*event = (struct hub_event){0};
		write_notice(hub, subscriber);
		buf_append(out, subscriber->notice, subscriber->notice_len);
		subscriber->notice_sent = subscriber->notice_len;
	}
	ssize_t bytes = (ssize_t)(out->len - before);
	if (bytes)
		subscriber->active_ms = hub->now_ms;
	else
		subscriber->is_woken = false;
	bool is_over = !bytes && hub->is_closed;
	pthread_mutex_unlock(&hub->mutex);
	return is_over ? -1 : bytes;
}

bool hub_wants(struct hub *hub, struct span job, unsigned kind)
{
	pthread_mutex_lock(&hub->mutex);
	bool is_wanted = interest_has(hub->interest, job, kind, hub->now_ms);
	pthread_mutex_unlock(&hub->mutex);
	return is_wanted;
}

void hub_expect(struct hub *hub, struct span job, unsigned kinds)
{
	pthread_mutex_lock(&hub->mutex);
	if (interest_add(hub->interest, job, kinds)) /* out of memory: a resync will do */
		interest_remove(hub->interest, job, kinds, hub->now_ms);
	pthread_mutex_unlock(&hub->mutex);
}

static const char *event_name(enum hub_kind kind)
{
	switch (kind) {
	case HUB_POINTS:
		return "points";
	case HUB_LINES:
		return "lines";
	case HUB_JOB:
		return "job";
	case HUB_BACKFILL:
		return "backfill";
	case HUB_POOL:
		return "pool";
	case HUB_INCIDENT:
	case HUB_ALL:
		break;
	}
	return "incident";
}

static void drop_old(struct hub *hub)
{
	while (hub->ring.count) {
		const struct frame *oldest = ring_at(&hub->ring, hub->ring.first_number);
		if (hub->ring.bytes <= hub->options.ring_bytes && hub->now_ms - oldest->time_ms <= hub->options.ring_ms)
			break;
		if (oldest->seq >= hub->covered_from)
			hub->covered_from = oldest->seq + 1;
		ring_drop_oldest(&hub->ring);
	}
	if (hub->flushed < hub->ring.first_number)
		hub->flushed = hub->ring.first_number;
}

static void advance_seq(struct hub *hub, uint64_t seq)
{
	hub->has_seq = true;
	if (seq > hub->seq)
		hub->seq = seq;
}

enum status hub_publish(
	struct hub *hub, struct hub_topic topic, enum hub_kind kind, uint64_t seq, struct span json, struct error *err)
{
	if (span_find_char(json, '\n') >= 0)
		return error_set(err, ERR_INVALID, "an event's document has more than one line");
	struct frame *frame = frame_new(topic.job, topic.team, kind, event_name(kind), seq, json);
	pthread_mutex_lock(&hub->mutex);
	bool is_in = frame && ring_push(&hub->ring, frame);
	if (is_in) {
		frame->time_ms = hub->now_ms;
		advance_seq(hub, seq);
		hub->frames++;
		drop_old(hub);
	}
	pthread_mutex_unlock(&hub->mutex);
	if (is_in)
		return OK;
	frame_unref(frame);
	return error_no_memory(err);
}

static bool must_wake(struct hub *hub, struct subscriber *subscriber)
{
	scan(hub, subscriber);
	bool is_silent = hub->now_ms - subscriber->active_ms >= hub->options.heartbeat_ms;
	if (is_silent && !subscriber->pending_bytes)
		subscriber->notices |= NOTICE_HEARTBEAT;
	bool has_something = subscriber->pending_bytes || subscriber->notices || hub->is_closed;
	if (!has_something || subscriber->is_woken)
		return false;
	subscriber->is_woken = true;
	return true;
}

/* Under wake_mutex: the chosen cannot be freed; outside mutex: those who were woken may read at once. */
static void wake_all(struct hub *hub)
{
	size_t count = 0;

	pthread_mutex_lock(&hub->mutex);
	for (struct subscriber *at = hub->subscribers; at; at = at->next)
		if (must_wake(hub, at))
			hub->to_wake[count++] = at;
	pthread_mutex_unlock(&hub->mutex);
	for (size_t i = 0; i < count; i++)
		hub->to_wake[i]->wake(hub->to_wake[i]->context);
}

void hub_flush(struct hub *hub, int64_t now_mono_ms)
{
	pthread_mutex_lock(&hub->wake_mutex);
	pthread_mutex_lock(&hub->mutex);
	hub->now_ms = now_mono_ms;
	for (; hub->flushed < ring_end(&hub->ring); hub->flushed++) /* publishers do not ask for the time */
		ring_at(&hub->ring, hub->flushed)->time_ms = now_mono_ms;
	drop_old(hub);
	interest_sweep(hub->interest, now_mono_ms);
	skips_age(hub->skips, now_mono_ms, hub->options.ring_ms);
	pthread_mutex_unlock(&hub->mutex);
	wake_all(hub);
	pthread_mutex_unlock(&hub->wake_mutex);
}

void hub_set_seq(struct hub *hub, uint64_t seq)
{
	pthread_mutex_lock(&hub->mutex);
	if (!hub->has_seq)
		hub->covered_from = seq;
	advance_seq(hub, seq);
	pthread_mutex_unlock(&hub->mutex);
}

void hub_skip(struct hub *hub, struct span job, enum hub_kind kind, uint64_t seq)
{
	pthread_mutex_lock(&hub->mutex);
	skips_note(hub->skips, job, kind, seq);
	for (struct subscriber *at = hub->subscribers; at; at = at->next)
		if ((at->kinds & kind) && wants_job(at, span_hash(job), job))
			resync(hub, at);
	pthread_mutex_unlock(&hub->mutex);
}

void hub_close(struct hub *hub)
{
	pthread_mutex_lock(&hub->wake_mutex);
	pthread_mutex_lock(&hub->mutex);
	hub->is_closed = true;
	hub->flushed = ring_end(&hub->ring);
	pthread_mutex_unlock(&hub->mutex);
	wake_all(hub);
	pthread_mutex_unlock(&hub->wake_mutex);
}

struct hub_counters hub_counters(struct hub *hub)
{
	pthread_mutex_lock(&hub->mutex);
	struct hub_counters counters = {
		hub->subscriber_count, hub->ring.bytes, hub->resyncs, hub->frames, skips_count(hub->skips)};
	pthread_mutex_unlock(&hub->mutex);
	return counters;
}
