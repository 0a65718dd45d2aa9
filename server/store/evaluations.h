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
/* Jobs that have any, the newest first. */
enum status store_list_evaluated_jobs(struct store_reader *reader, struct arena *arena, size_t limit, int64_t **out,
	size_t *count, struct error *err) MUST_CHECK;
enum status store_has_evaluation(struct store_reader *reader, int64_t job_id, const struct evaluation_score *like,
	bool *has, struct error *err) MUST_CHECK;

/* Scores of the job came or went: in the transaction that changes them. */
struct evaluation_mark {
	int64_t job_id, mark;
};
enum status store_mark_evaluations(struct store_tx *tx, int64_t job_id, struct error *err) MUST_CHECK;
/* Of jobs above a number, by number; those in the trash wait until they are restored. */
enum status store_read_evaluation_marks(struct store_reader *reader, struct arena *arena, int64_t after_job_id,
	size_t limit, struct evaluation_mark **out, size_t *count, struct error *err) MUST_CHECK;
/* Unless it was made anew meanwhile. */
enum status store_end_evaluation_mark(
	struct store_tx *tx, const struct evaluation_mark *mark, struct error *err) MUST_CHECK;
