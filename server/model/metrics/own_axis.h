/*
 * Job: the step axis of a series that is another one than that of the series that leads its stream (tokens, epochs, rows beside steps): where
 *      each attempt began on it. That is the least step that it has there; none of it is superseded before it has one.
 * Ownership: its starts are on the heap (own_axis_done), or in an arena where they were unpacked for a reader. Threads: one at a time.
 */
#pragma once

#include "base/arena.h"
#include "base/codec/pack.h"
#include "model/metrics/point.h"

struct own_axis {
	int64_t *starts; /* as in struct attempt_starts */
	size_t count, cap; /* 0: it has none, and goes by its stream's starts */
	uint32_t since; /* the attempt that has shown it: of those before, the starts are the stream's */
	uint32_t
		counter; /* the attempt in which it has gone back to where it began: that is a counter of its own, and supersedes nothing */
	uint32_t awaited; /* the first attempt of which it is not known yet whether it has one; 0: nothing is open */
	/* Of the state in RAM alone: */
	bool is_moved; /* other points are superseded than before */
	uint32_t
		touched; /* the first attempt of which the series has other points since the axes of its stream were settled; 0: none */
	uint32_t unsettled; /* since this one was, any series of the stream; 0: none */
};

void own_axis_done(struct own_axis *axis);

/* From this attempt on it has one. False: no memory. */
bool own_axis_begin(struct own_axis *axis, struct attempt_starts stream, uint32_t since);
/* The stream has so many attempts by now; the new ones begin at `step`. False: no memory. */
bool own_axis_follow(struct own_axis *axis, size_t attempts, int64_t step);
/* The series has other points in that attempt than before. */
void own_axis_touch(struct own_axis *axis, uint32_t attempt);
/* A point of the series, whose least step is min_step. */
void own_axis_see(struct own_axis *axis, const struct point *point, int64_t min_step);

void own_axis_pack(const struct own_axis *axis, struct buf *out);
struct own_axis own_axis_unpack(struct unpacker *in, struct arena *arena);
/* False: no memory. */
bool own_axis_copy(struct own_axis *into, const struct own_axis *from);

static inline struct attempt_starts own_axis_or(const struct own_axis *axis, struct attempt_starts stream)
{
	return axis->count ? (struct attempt_starts){axis->starts, axis->count} : stream;
}
