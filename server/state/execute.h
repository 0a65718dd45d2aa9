/*
 * Job: runs work inside a transaction of the writer, and waits until it is durable.
 * Ownership: the caller's. Threads: workers; it blocks.
 */
#pragma once

#include "store/store.h"

struct pipeline;

/* Runs work inside a transaction of the writer, waits until it is durable. Worker threads only (it blocks). */
enum status writer_execute(struct pipeline *pipeline,
	enum status (*work)(void *context, struct store_tx *tx, struct error *err), void *context,
	struct error *err) MUST_CHECK;

/* Like writer_execute; after runs on the writer thread when the commit is on disk. */
enum status writer_execute_then(struct pipeline *pipeline,
	enum status (*work)(void *context, struct store_tx *tx, struct error *err), void (*after)(void *context),
	void *context, struct error *err) MUST_CHECK;

/* A work that writes nothing: who gives it means what comes with a commit (what runs after it, the entry in the audit log). */
enum status writer_write_nothing(void *context, struct store_tx *tx, struct error *err) MUST_CHECK;

/* All that became known here up to then (model/known.h) is committed, and nothing more will be of it: reports end there at the latest. */
int64_t writer_settled_ms(const struct pipeline *pipeline);
