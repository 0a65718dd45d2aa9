/*
 * Job: what every room needs of the threads: the queue to the writer, the ticks until the end, whether a job is still there.
 * Ownership: the caller's. Threads: any, but for what says otherwise.
 */
#pragma once

#include "state/streams/directory.h"
#include "state/pipeline_state.h"

enum status control_push(struct pipeline *pipeline, struct control *control, struct error *err) MUST_CHECK;

/* Waits until the pipeline's end or the timeout; true: it ends. */
bool control_wait_tick(struct pipeline *pipeline, int64_t timeout_ms);
/* A thread's own. A database that is away is waited for; *out is NULL when the pipeline ends meanwhile. */
enum status control_wait_reader(
	struct pipeline *pipeline, const char *thread, struct store_reader **out, struct error *err) MUST_CHECK;

/* Writer: was the job deleted, before or earlier in the transaction that is open? RAM hears of the latter by its commit. */
enum status control_check_job_gone(struct pipeline *pipeline, struct store_tx *tx, const struct job_state *job,
	bool *is_gone, struct error *err) MUST_CHECK;

/* What failed is not the work: tried again it may do better. */
bool control_may_pass(enum status status);

/* It has more than half of what it may: nothing that keeps a stream from being sealed waits any more. */
bool control_is_journal_long(const struct pipeline *pipeline);
