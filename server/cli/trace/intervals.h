/*
 * Job: a set of whole numbers as intervals that do not touch: times at which something ran, or numbers that are nearly in a row. Made
 *      of intervals in any order, which overlap as they like; memory is 16 bytes for each that is left.
 * Ownership: done. Threads: one at a time.
 */
#pragma once

#include "base/alloc.h"
#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

enum { INTERVALS_SETS_MOST = 4 };

struct interval {
	int64_t from, to; /* [from, to) */
};

struct intervals {
	struct interval *items; /* `count` sorted ones, then `fresh` as they came */
	size_t count, fresh, cap;
};

void intervals_done(struct intervals *set);
/* An empty one adds nothing. ERR_TOO_LARGE: more than `most` would be left apart. */
enum status intervals_add(struct intervals *set, int64_t from, int64_t to, size_t most, struct error *err) MUST_CHECK;
/* Before any of what follows. */
void intervals_settle(struct intervals *set);

int64_t intervals_length(const struct intervals *set);
int64_t intervals_common_length(const struct intervals *a, const struct intervals *b);
int64_t intervals_union_length(const struct intervals *sets, size_t count); /* of at most INTERVALS_SETS_MOST */
bool intervals_have(const struct intervals *set, int64_t number);

AUTO_DONE_TYPE(intervals)
