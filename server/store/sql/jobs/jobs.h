/*
 * Job: a job's row with a number of its own choice, for imports and the trash; the two halves of a deletion.
 * Ownership: values. Threads: the writer's.
 */
#pragma once

#include "store/driver/common_sql.h"
#include "store/jobs.h"
#include "store/store.h"

/* When its start and its end became known here; 0: there is none. table: "j." or "". An older program leaves them as they were. */
#define JOB_STARTED_KNOWN_MS(table) SQL_GREATER(table "started_known_ms", table "started_ms")
#define JOB_ENDED_KNOWN_MS(table) SQL_GREATER(table "ended_known_ms", table "ended_ms")

/* With the number that the row has. */
enum status store_insert_job(struct store_tx *tx, const struct job_row *row, struct error *err) MUST_CHECK;

/* What is small of a job goes, but for its row. */
enum status job_forget(struct store_tx *tx, int64_t job_id, struct error *err) MUST_CHECK;
/* Its row was deleted by the last statement (ERR_NOT_FOUND: there was none): what is large is swept from now on. */
enum status job_bury(struct store_tx *tx, int64_t job_id, struct error *err) MUST_CHECK;
