/* Job: rows of jobs. Ownership and threads: as store.h. */
#pragma once

#include "store/store.h"

struct job_row {
	int64_t job_id; /* 0 in store_put_job: a new one */
	struct span name;
	struct span team;
	struct span document; /* JSON as created and merged, without derived fields */
	struct span status; /* SageMaker's TrainingJobStatus */
	struct span secondary;
	struct span failure_reason;
	int64_t created_ms; /* decided with its life, for all who ask: state/jobs/history.h */
	int64_t announced_ms; /* its document or first line came, or an event says it outright; 0 in store_put_job: created_ms */
	int64_t started_ms; /* 0: not yet, as below */
	int64_t ended_ms;
	int64_t modified_ms;
	/* When these times became known here (model/known.h), never before them. store_put_job works them out where a time changes;
	 * what was imported has 0 until it is read again. */
	int64_t started_known_ms, ended_known_ms;
	uint32_t generation; /* of the metric definitions in force */
	bool is_implicit; /* made by its first line, no document was posted */
	bool is_end_ours; /* in store_put_job: nobody said when it ended, so the end is news now, however old */
};
/* Inserts (job_id 0, then set) or updates all columns. ERR_CONFLICT when the name is taken. */
enum status store_put_job(struct store_tx *tx, struct job_row *row, struct error *err) MUST_CHECK;
enum status store_read_job(struct store_reader *reader, struct arena *arena, struct span name, struct job_row *out,
	struct error *err) MUST_CHECK; /* ERR_NOT_FOUND names the job */
enum status store_read_job_by_id(struct store_reader *reader, struct arena *arena, int64_t job_id, struct job_row *out,
	struct error *err) MUST_CHECK;
/* The job is gone at once, and everything small that belongs to it; its lines in the journal are then nobody's and are skipped.
 * Its text and points are taken away by store_sweep_dead. */
enum status store_delete_job(struct store_tx *tx, int64_t job_id, struct error *err) MUST_CHECK;
/* Takes away about `limit` rows of deleted jobs, and of series that are due; *has_more: call again, in another transaction. */
enum status store_sweep_dead(
	struct store_tx *tx, int64_t now_ms, size_t limit, bool *has_more, struct error *err) MUST_CHECK;
enum status store_has_dead(struct store_reader *reader, int64_t now_ms, bool *has_dead, struct error *err) MUST_CHECK;
