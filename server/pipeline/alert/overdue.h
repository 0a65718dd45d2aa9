/*
 * Job: what a running job should have done, or will not have done in time: `deadline` (it will need longer than it may run) and
 *      `checkpoint_overdue` (twice its usual gap without a checkpoint, or none at all).
 * Ownership: the caller's. Threads: overdue_run: maintenance, every few seconds; the others are pure.
 */
#pragma once

#include "base/json/json_read.h"
#include "store/faults.h"

struct pipeline;

void overdue_run(struct pipeline *pipeline, struct store_reader *reader);

/* StoppingCondition.MaxRuntimeInSeconds, else and at most the 28 days of a job of SageMaker. */
int64_t overdue_limit_s(const struct json *document);
/* Late once it needs more than the limit, and until it needs two hundredths less. */
bool overdue_is_late(int64_t needed_s, int64_t limit_s, bool was_late);

struct overdue {
	bool is_by_time; /* the gaps are more even in seconds than in steps: seconds, else steps */
	double since; /* the last one */
	double usual; /* the median gap */
};
/* rows: newest first; three at least, within one attempt. step, now_ms: of the newest loss and line. */
bool overdue_is_checkpoint(
	const struct checkpoint_row *rows, size_t count, int64_t step, int64_t now_ms, struct overdue *out);
