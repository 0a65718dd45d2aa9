/*
 * Job: N threads that may block, each with its own context (a database connection), behind one bounded queue.
 * Ownership: work is its caller's; run has it for as long as it runs. Threads: push from any; run on a worker.
 */
#pragma once

#include "base/queue.h"
#include "http/http.h"

struct workers;

struct work {
	struct queue_item item; /* first */
	/* is_dropped: the server stops, there is only time for a refusal. */
	void (*run)(struct work *work, void *worker, bool is_dropped);
};

enum status workers_new(struct workers **out, unsigned count, size_t max_pending, const struct http_hooks *hooks,
	struct error *err) MUST_CHECK;
/* What runs is ended, what waits is dropped, what is pushed is refused; returns when all threads are done. */
void workers_stop(struct workers *workers);
void workers_free(struct workers *workers); /* stops first */
/* ERR_BUSY (with retry_after_s) when too many wait. */
enum status workers_push(struct workers *workers, struct work *work, struct error *err) MUST_CHECK;
/* More of work that was done in part: behind what waits, however much that is. Refused only when they stop. */
enum status workers_push_again(struct workers *workers, struct work *work, struct error *err) MUST_CHECK;

AUTO_TYPE(workers)
