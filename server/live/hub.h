/*
 * Job: fan-out of finished events to many subscribers: one ring of shared frames, a cursor a subscriber, replay after a
 *      sequence, "resync" for who fell behind. A slow subscriber costs no memory.
 * Ownership: the hub owns frames; a subscriber is its opener's until hub_unsubscribe.
 * Threads: all calls from any. wake runs in the thread that flushes, closes or subscribes.
 */
#pragma once

#include "base/buf.h"

#include <sys/types.h>

struct hub;
struct subscriber;

enum { HUB_TEAM_BYTES = 64 };

enum hub_kind {
	HUB_POINTS = 1,
	HUB_LINES = 2,
	HUB_JOB = 4,
	HUB_INCIDENT = 8,
	HUB_BACKFILL = 16,
	HUB_POOL = 32,
	HUB_ALL = 63
};

struct hub_options {
	size_t ring_bytes; /* frames kept for replay: 8 MiB */
	int64_t ring_ms; /* and for how long: 60 s */
	size_t max_subscribers; /* 256 */
	size_t max_lag_bytes; /* a subscriber further behind is resynced: 1 MiB */
	int64_t heartbeat_ms; /* a comment line to every silent subscriber: 15 s */
};

struct hub *hub_new(const struct hub_options *options) __attribute__((warn_unused_result));
void hub_free(struct hub *hub); /* no subscriber may be left */

/*
 * jobs: names, each percent-decoded already; job_count 0: all jobs. after: replay frames whose sequence is >= after (the overlap is the
 * client's to drop); UINT64_MAX: only what comes. team: of jobs of this team alone; NULL: of all.
 */
struct hub_wish {
	const struct span *jobs;
	size_t job_count;
	unsigned kinds;
	uint64_t after;
	const char *team; /* shorter than HUB_TEAM_BYTES */
};

/*
 * When the ring does not reach back as far as the wish, or `after` is ahead of the newest sequence (a restored backup), the first event is
 * "resync". wake is called, from any thread, when hub_read has something; it must not call back into the hub.
 * ERR_BUSY beyond max_subscribers.
 */
enum status hub_subscribe(struct hub *hub, struct subscriber **out, const struct hub_wish *wish,
	void (*wake)(void *context), void *context, struct error *err) MUST_CHECK;
/* When it returns no wake is running or will come. */
void hub_unsubscribe(struct hub *hub, struct subscriber *subscriber);
/* The next bytes of the event stream (SSE text, cut anywhere); 0: nothing now; -1: the hub was closed, all was read. */
ssize_t hub_read(struct hub *hub, struct subscriber *subscriber, char *out, size_t room);

struct hub_event {
	unsigned kind; /* 0: a notice (hello, resync, heartbeat) */
	uint64_t seq; /* 0 with a notice */
};
/* The same by whole events, one a call, appended; a subscriber is read in one way or in the other. */
ssize_t hub_read_event(struct hub *hub, struct subscriber *subscriber, struct buf *out, struct hub_event *event);

/* Is anybody interested (now, or in the last minute)? Cheap: producers ask before they render. */
bool hub_wants(struct hub *hub, struct span job, unsigned kind);

/* Somebody reads this job now, and will subscribe soon: what comes meanwhile is kept as for one who has just left. */
void hub_expect(struct hub *hub, struct span job, unsigned kinds);

/* Of which job, and of which team that is ("": of none). */
struct hub_topic {
	struct span job, team;
};
/* Adds one event; json is one finished document on one line. Nobody is woken before hub_flush. */
enum status hub_publish(struct hub *hub, struct hub_topic topic, enum hub_kind kind, uint64_t seq, struct span json,
	struct error *err) MUST_CHECK;
/*
 * Something of this job and kind, of commits up to seq, was not rendered because nobody listened: who wants to go on from
 * before it is told to resync. Subscribers that came since the producer asked are resynced now.
 */
void hub_skip(struct hub *hub, struct span job, enum hub_kind kind, uint64_t seq);
/* Wakes those who have something to read, and those whose heartbeat is due. The publisher calls it each 50 ms. */
void hub_flush(struct hub *hub, int64_t now_mono_ms);
/* The newest sequence known (frames or not): what a subscriber without a replay starts from. */
void hub_set_seq(struct hub *hub, uint64_t seq);
/* Every subscriber is woken and reads -1 after what is left. */
void hub_close(struct hub *hub);

struct hub_counters {
	size_t subscribers;
	size_t ring_bytes;
	uint64_t resyncs;
	uint64_t frames;
	size_t skips; /* jobs and kinds of which it is remembered that something was skipped */
};
struct hub_counters hub_counters(struct hub *hub);

AUTO_TYPE(hub)
