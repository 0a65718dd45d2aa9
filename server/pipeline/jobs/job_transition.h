/*
 * Job: statuses that a caller states of a job.
 * Ownership: the caller's. Threads: workers; they wait for the writer.
 */
#pragma once

#include "base/json/json_read.h"
#include "store/store.h"

struct pipeline;

struct job_transition {
	struct span secondary;
	struct span message;
	struct span failure_reason;
	int64_t time_ms;
	bool has_time; /* it is said when that was; else it is said of the present, and time_ms is now */
	const struct json *unless; /* array of statuses in which the job is left as it is; NULL: none */
	/* In the same transaction, before it, and may still change time_ms; NULL: nothing is. */
	enum status (*first)(void *context, struct store_tx *tx, struct error *err);
	void *context;
};

enum { TRANSITION_REASON_BYTES = 256 };

/*
 * ERR_CONFLICT when the job has one of the statuses that `unless` names. ignored: why it changes nothing of what is shown, and
 * will not; "": it does, or is known already; may be NULL.
 */
enum status pipeline_add_transition(struct pipeline *pipeline, struct span job, struct span team,
	const struct job_transition *transition, char ignored[TRANSITION_REASON_BYTES], struct error *err) MUST_CHECK;
