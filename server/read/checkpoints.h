/*
 * Job: a job's checkpoints: those that its log tells of, as somebody set them right by hand (by_hand.checkpoints of its document).
 * Ownership: rows are the arena's. Threads: as the reader's.
 */
#pragma once

#include "store/faults.h"
#include "store/store.h"

/* The last `limit` until the time from which work can go on, the newest first. */
enum status checkpoints_read(struct store_reader *reader, struct arena *arena, int64_t job_id, int64_t until_ms,
	size_t limit, struct checkpoint_row **out, size_t *count, struct error *err) MUST_CHECK;
/* And with those of which somebody says that nothing can go on from them. */
enum status checkpoints_read_all(struct store_reader *reader, struct arena *arena, int64_t job_id, int64_t until_ms,
	size_t limit, struct checkpoint_row **out, size_t *count, struct error *err) MUST_CHECK;
/* Those alone; there are at most 1000. */
enum status checkpoints_read_denied(struct store_reader *reader, struct arena *arena, int64_t job_id,
	struct checkpoint_row **out, size_t *count, struct error *err) MUST_CHECK;
/* Steps of which no checkpoint is left from which work can go on, because somebody says so; in no order. */
enum status checkpoints_read_lost_steps(struct store_reader *reader, struct arena *arena, int64_t job_id, int64_t **out,
	size_t *count, struct error *err) MUST_CHECK;
