/*
 * Job: a bounded hand-over of pointers from many threads to one (or several) threads, with a lane for control work that
 *      is never refused and goes first.
 * Ownership: moves with the item: after a push that returned OK it is the consumer's. Threads: all calls from any.
 */
#pragma once

#include "base/alloc.h"
#include "base/error.h"

#include <stdbool.h>

struct queue;

/* Put it into the thing that is queued. */
struct queue_item {
	struct queue_item *next;
	size_t bytes; /* set before the push: what it holds in memory */
	bool is_counted; /* the queue's */
};

struct queue *queue_new(size_t max_items, size_t max_bytes) __attribute__((warn_unused_result));
void queue_free(struct queue *queue); /* must be empty; nobody may be waiting in it */

/* ERR_BUSY when it is full, ERR_UNAVAILABLE when it is closed; the item then stays the caller's. */
enum status queue_push(struct queue *queue, struct queue_item *item, struct error *err) MUST_CHECK;
/* Goes on with what was let in before: waits its turn, but is neither counted nor refused as long as the queue is open. */
enum status queue_push_again(struct queue *queue, struct queue_item *item, struct error *err) MUST_CHECK;
/* The control lane: not counted against the limits; refused only when closed. */
enum status queue_push_control(struct queue *queue, struct queue_item *item, struct error *err) MUST_CHECK;

/* Waits at most timeout_ms (-1: for ever) for an item; NULL: none came, or closed and empty. The control lane first. */
struct queue_item *queue_pop(struct queue *queue, int64_t timeout_ms);
/*
 * Of its only consumer: waits until so many items are in the bounded lane, or it is full, without being woken for each of them, or something
 * is in the control lane, at most timeout_ns. How many there are.
 */
size_t queue_gather(struct queue *queue, size_t items, int64_t timeout_ns);
/* No more pushes; what is inside can still be popped. Wakes all waiters. */
void queue_close(struct queue *queue);
bool queue_is_closed(struct queue *queue);
void queue_size(struct queue *queue, size_t *items, size_t *bytes); /* of the bounded lane */

AUTO_TYPE(queue)
