/*
 * Job: committed groups that were extracted, for some seconds or until they are sealed: small slices lie in them as they came, so the
 *      sealer need not read and unpack what the writer has just packed. There is a limit on all together; what is older or above
 *      it, and what was in the journal before a start, is read there.
 * Ownership: a group is counted: one reference is the list's, one of each find. Threads: any.
 */
#pragma once

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

struct group;

struct kept_groups {
	pthread_mutex_t mutex;
	/* by sequence */
	struct group **items;
	size_t count, cap;
	size_t bytes;
};

void kept_groups_init(struct kept_groups *kept);
void kept_groups_done(struct kept_groups *kept);
/* Takes the last reference, and lets the oldest go until all of them hold at most max_bytes. */
void kept_groups_put(struct kept_groups *kept, struct group *group, size_t max_bytes);
/* Counted: kept_group_unref; NULL: it is not there. */
struct group *kept_groups_find(struct kept_groups *kept, uint64_t seq);
void kept_group_unref(struct group *group);
/* No stream needs what is before before_seq; and what was put more than max_age_ms ago costs more memory than it saves work. */
void kept_groups_drop(struct kept_groups *kept, uint64_t before_seq, int64_t max_age_ms);
