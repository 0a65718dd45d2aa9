/*
 * Job: when a stream, or a whole job, was at work: the times of its lines and points gathered into clusters, between which
 *      nothing was said for more than a day. A cluster counts when three of its lines or points have different times: one old
 *      date that a line happens to show is no part of the work. The bound on clusters is that of memory: of more than
 *      STRETCHES_MAX, those that do not count are forgotten first (their lines stay counted); where all count, the two that
 *      are nearest to each other become one, and the pause between them is taken for work.
 * Ownership: values. Threads: the caller's.
 */
#pragma once

#include "base/codec/pack.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { STRETCHES_MAX = 16, STRETCH_COUNTS_FROM = 3 };
#define STRETCH_GAP_MS (24 * 60 * 60 * INT64_C(1000))

struct time_cluster {
	int64_t first_ms, last_ms;
	uint64_t count; /* of lines and points */
	unsigned distinct; /* different times among them, up to STRETCH_COUNTS_FROM */
};

struct stretches {
	struct time_cluster items[STRETCHES_MAX]; /* in order of time, more than STRETCH_GAP_MS apart */
	unsigned count;
	unsigned recent; /* index of the one that was added to last */
	uint64_t forgotten; /* lines and points of those that had no place */
	bool is_rough; /* of a time before clusters were kept: all of it is taken for one */
};

void stretches_add(struct stretches *all, int64_t ts_ms);
/* A whole cluster: of another stream, or of what is known in bulk. */
void stretches_add_stretch(struct stretches *all, const struct time_cluster *more);
void stretches_merge(struct stretches *into, const struct stretches *from);

/* Does it count? Where none has times enough: all do if there are as many (a line a day or less), else the one that has most,
 * of these the newest. */
bool stretches_counts(const struct stretches *all, unsigned index);
/* Is it a time in one that counts? */
bool stretches_hold(const struct stretches *all, int64_t ts_ms);
/* The next pause between two that count, from *index (0 at first) on; false: there is no more. */
bool stretches_pause(const struct stretches *all, unsigned *index, int64_t *from_ms, int64_t *to_ms);
/* Of those that count; 0: nothing was said at all. */
int64_t stretches_first_ms(const struct stretches *all);
int64_t stretches_last_ms(const struct stretches *all);
/* Lines and points of `part` whose times are in no cluster of `all` that counts. part is a part of all, or all itself. */
uint64_t stretches_odd(const struct stretches *all, const struct stretches *part);

void stretches_pack(const struct stretches *all, struct buf *out);
/* What is no such thing fails the unpacker. */
void stretches_unpack(struct stretches *out, struct unpacker *in);
