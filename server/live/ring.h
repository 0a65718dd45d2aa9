/*
 * Job: the newest frames in order, each numbered, within a limit of bytes and of age.
 * Ownership: the ring holds one reference to each frame; who sends a frame in parts holds another.
 * Threads: one at a time (the hub's mutex).
 */
#pragma once

#include "base/alloc.h"
#include "base/error.h"
#include "base/span.h"

struct frame {
	unsigned references;
	unsigned kind;
	uint64_t seq;
	int64_t time_ms;
	uint64_t job_hash;
	struct span job, team;
	struct span text; /* server-sent event, finished */
	char bytes[];
};

struct ring {
	struct frame **slots;
	size_t cap;
	size_t first_slot;
	size_t count;
	uint64_t first_number; /* of the oldest frame, or of the next one when there is none */
	size_t bytes;
};

/* NULL: out of memory. One reference. */
struct frame *frame_new(struct span job, struct span team, unsigned kind, const char *event, uint64_t seq,
	struct span json) __attribute__((warn_unused_result));
void frame_unref(struct frame *frame);
size_t frame_bytes(const struct frame *frame);

/* Takes the reference over; false: out of memory, the reference stays the caller's. */
bool ring_push(struct ring *ring, struct frame *frame) __attribute__((warn_unused_result));
void ring_drop_oldest(struct ring *ring);
void ring_done(struct ring *ring);

static inline uint64_t ring_end(const struct ring *ring)
{
	return ring->first_number + ring->count;
}

/* number: from first_number to below ring_end. */
static inline struct frame *ring_at(const struct ring *ring, uint64_t number)
{
	return ring->slots[(ring->first_slot + (number - ring->first_number)) % ring->cap];
}
