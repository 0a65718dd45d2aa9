/* Job: the history of a job as it is shown. Ownership and threads: as store.h. */
#pragma once

#include "store/store.h"

/* Who said it; whom to trust: state/jobs/history.h. The numbers are in the database. */
/* SOURCE_DATED: stated without a time, which is the one at which the job's log ended; SOURCE_BY_HAND: its time was set right, and SOURCE_ASSUMED_BY_HAND
 * that of what is assumed in all else. */
enum transition_source {
	SOURCE_STATED,
	SOURCE_ASSUMED,
	SOURCE_LOG,
	SOURCE_EXIT,
	SOURCE_SESSION,
	SOURCE_DATED,
	SOURCE_BY_HAND,
	SOURCE_ASSUMED_BY_HAND
};
struct transition_row {
	struct span status; /* SageMaker's SecondaryStatus */
	struct span message;
	int64_t start_ms;
	int64_t end_ms; /* 0: the present one */
	enum transition_source source;
	int64_t again_ms; /* of what was just decided: stated again then, the last time; 0: never */
};
/* These, and no others: what is shown, made of what was told (store/told.h). */
enum status store_put_transitions(struct store_tx *tx, int64_t job_id, const struct transition_row *rows, size_t count,
	struct error *err) MUST_CHECK;
/* How new the newest EventBridge event was by which the job's document was changed; 0: there was none. */
enum status store_put_newest_event(
	struct store_tx *tx, int64_t job_id, int64_t newest_ms, struct error *err) MUST_CHECK;
enum status store_read_newest_event(
	struct store_reader *reader, int64_t job_id, int64_t *newest_ms, struct error *err) MUST_CHECK;
enum status store_read_transitions(struct store_reader *reader, struct arena *arena, int64_t job_id,
	struct transition_row **out, size_t *count, struct error *err) MUST_CHECK;

/* Between the two times: how long it waited for machines, which nobody is billed for (spot interruptions, retries). */
enum status store_read_idle(struct store_reader *reader, int64_t job_id, int64_t from_ms, int64_t to_ms,
	int64_t *idle_ms, struct error *err) MUST_CHECK;
