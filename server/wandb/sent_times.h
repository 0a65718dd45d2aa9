/*
 * Job: of which times a file of a run has come, by the clock of the processes that wrote it. `wandb sync` of a process that goes on with the run
 *      counts its lines behind all that are there, also a second time: its lines are known by their times alone. Pure.
 * Ownership: none. Threads: one at a time.
 */
#pragma once

#include "base/json/json_read.h"
#include "base/json/json_write.h"

#include <stdint.h>

enum { SENT_TIMES_MAX = 64 };

/* Of one process that sent: the earliest and the latest of its lines. */
struct sent_time {
	double first_s, last_s;
	int64_t session;
};
struct sent_times {
	struct sent_time items[SENT_TIMES_MAX]; /* the one that was sent first first; the oldest give way */
	size_t count;
	int64_t session; /* of who sends now */
};

void sent_times_read(struct sent_times *times, const struct json *list, int64_t session);
void sent_times_write(const struct sent_times *times, const char *key, struct json_writer *w);
/* Another session has sent the same file as far as that time: it began with a line of the very time with which this one did, which is noted. A
 * process whose clock is behind has times within another's, and is none of it. */
bool sent_times_has(const struct sent_times *times, double at_s);
/* This one sends of that time. */
void sent_times_note(struct sent_times *times, double at_s);
/* What this one has sent; NULL: nothing. */
const struct sent_time *sent_times_own(const struct sent_times *times);
/* Another one has sent of a later time than this one. */
bool sent_times_is_older(const struct sent_times *times);
