/*
 * Job: what was told of a job's life, by whom: the facts that its history (store_read_transitions) is made of, state/jobs/history.h.
 * Ownership and threads: as store.h.
 */
#pragma once

#include "store/store.h"
#include "store/transitions.h"

/* Known again by source, time and status: the same told twice is one row, with the newest words. */
struct told_row {
	struct span status; /* SageMaker's SecondaryStatus */
	struct span message;
	struct span reason; /* FailureReason, of an end */
	int64_t start_ms;
	/* SOURCE_SESSION: the end that the job had then; SOURCE_STATED: the same where nobody had dated that, and what was stated did not go on
	 * with it; 0 else */
	int64_t lifts_ms;
	enum transition_source source;
	bool is_whole; /* said with all that ever was, as EventBridge's SecondaryStatusTransitions */
	/* An end or a stop that nobody said the time of: start_ms is when it was told. SOURCE_ASSUMED: the end of a log that was imported,
	 * as far as it is known. SOURCE_SESSION: one of the past, right behind the end
	 * that it opened. */
	bool is_undated;
};
enum status store_put_told(
	struct store_tx *tx, int64_t job_id, const struct told_row *row, struct error *err) MUST_CHECK;
enum status store_delete_told(
	struct store_tx *tx, int64_t job_id, const struct told_row *row, struct error *err) MUST_CHECK;
/* By time. */
enum status store_read_told_facts(struct store_reader *reader, struct arena *arena, int64_t job_id,
	struct told_row **out, size_t *count, struct error *err) MUST_CHECK;

/* What EventBridge, or who asks AWS, says outright: TrainingStartTime, TrainingEndTime; 0: nothing. */
struct event_times {
	bool is_told; /* the job is one that AWS runs */
	int64_t started_ms, ended_ms;
};
enum status store_put_event_times(
	struct store_tx *tx, int64_t job_id, const struct event_times *times, struct error *err) MUST_CHECK;
enum status store_read_event_times(
	struct store_reader *reader, int64_t job_id, struct event_times *out, struct error *err) MUST_CHECK;

enum status store_has_undated(struct store_reader *reader, int64_t job_id, bool *has, struct error *err) MUST_CHECK;

/* Jobs that are Stopping, and nobody but us knows of: at most `limit`. */
enum status store_read_stopping(struct store_reader *reader, struct arena *arena, size_t limit, int64_t **job_ids,
	size_t *count, struct error *err) MUST_CHECK;
/* Jobs whose history an upgrade left to be made anew: at most `limit`. */
enum status store_read_told_anew(struct store_reader *reader, struct arena *arena, size_t limit, int64_t **job_ids,
	size_t *count, struct error *err) MUST_CHECK;
enum status store_is_told_anew(struct store_reader *reader, int64_t job_id, bool *is, struct error *err) MUST_CHECK;
enum status store_settle_told_anew(struct store_tx *tx, int64_t job_id, struct error *err) MUST_CHECK;
