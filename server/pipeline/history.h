/*
 * Job: a job's history of secondary statuses, made of what several sources say of it, in any order and more than once.
 *      Rows in, rows out, but for history_forget_log_end.
 * Ownership: in the arena that the caller gives; spans are not copied. Threads: any.
 *
 * Order of trust: what is stated (REST, sm-ship, EventBridge), then the log, then what the server assumed ("the first line
 * arrived"). The log adds nothing to a history of which anything was stated. What is stated takes away the log's word about
 * the end, and a whole stated history all of the log's; what anybody says takes away what was assumed to be later.
 */
#pragma once

#include "store/store.h"

struct phase {
	const char *secondary;
	const char *status; /* SageMaker's TrainingJobStatus that goes with it */
	bool is_final;
};
/* NULL: none of SageMaker's. */
const struct phase *phase_find(struct span secondary);

struct history {
	struct transition_row *rows;
	size_t count;
};

struct told {
	const struct transition_row *rows; /* of one source, with start_ms; end_ms is not looked at */
	size_t count;
	bool is_whole; /* all that ever was, as EventBridge's SecondaryStatusTransitions */
};

/*
 * Sorted by start (a job that has ended stays so, whatever comes late), neighbours of one status joined, ends set. A row is
 * known again by (status, start): the same told twice changes nothing. *has_changed: out differs from old.
 */
enum status history_merge(struct arena *arena, const struct history *old, const struct told *told, struct history *out,
	bool *has_changed, struct error *err) MUST_CHECK;

/* Before something is stated. */
enum status history_forget_log_end(
	struct store_tx *tx, struct arena *arena, int64_t job_id, struct error *err) MUST_CHECK;

/* Status and times of the job as its history says; what is in the row and older stays. */
void history_to_row(const struct history *history, struct job_row *row);
