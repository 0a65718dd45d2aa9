/* Job: scores that evaluation suites gave a job's checkpoints. Ownership and threads: as store.h. */
#pragma once

#include "model/jobs/evaluation.h"
#include "store/store.h"

/* By its job, checkpoint, task and metric: replaces. */
enum status store_put_evaluation(
	struct store_tx *tx, int64_t job_id, const struct evaluation_score *score, struct error *err) MUST_CHECK;
/* The same of one that a log has: what was sent stays. */
enum status store_put_logged_evaluation(
	struct store_tx *tx, int64_t job_id, const struct evaluation_score *score, struct error *err) MUST_CHECK;
enum status store_count_evaluations(
	struct store_reader *reader, int64_t job_id, uint64_t *count, struct error *err) MUST_CHECK;
/* In the order (has_step, step, path, task, metric), behind `after`; NULL: from the first on. */
enum status store_read_evaluations(struct store_reader *reader, struct arena *arena, int64_t job_id,
	const struct evaluation_score *after, size_t limit, struct evaluation_score **out, size_t *count,
	struct error *err) MUST_CHECK;
/* All of one checkpoint; *deleted: how many scores that were. */
enum status store_delete_evaluations(struct store_tx *tx, int64_t job_id, const struct evaluation_score *checkpoint,
	size_t *deleted, struct error *err) MUST_CHECK;
