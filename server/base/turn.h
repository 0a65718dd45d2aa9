/*
 * Job: a lock that can be waited for until a time of the monotonic clock.
 * Ownership: lies in its owner. Threads: any; who takes the turn ends it.
 *
 * pthread_mutex_clocklock does the same, but ThreadSanitizer of gcc 12 does not see it: what the lock guards would be a race.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <time.h>

struct turn {
	pthread_mutex_t mutex;
	pthread_cond_t freed;
	bool is_taken;
};

void turn_init(struct turn *turn);
void turn_done(struct turn *turn);
/* False: it was not free until then. NULL: however long that takes. */
bool turn_take(struct turn *turn, const struct timespec *until);
void turn_end(struct turn *turn);
