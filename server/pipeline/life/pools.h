/*
 * Job: keeps the rows of warm pools in step with the jobs: a change of a job is a change of the facts that server/fleet/pool.h
 *      derives from, and what the change can reach is derived anew in the same transaction. Until time itself ends a pool: pools_run.
 * Threads: the writer's, but for pools_run and pools_write.
 */
#pragma once

#include "base/json/json_write.h"
#include "store/jobs.h"
#include "store/pools.h"
#include "store/store.h"

struct pipeline;

/* store_put_job, and what follows from it: the way in which a row is written whenever status, times or document may change. */
enum status pools_put_job(struct store_tx *tx, struct job_row *job, struct error *err) MUST_CHECK;
/* Counts it in the sums of the fleet as it is now: its goodput was worked out, by which they go, too. */
enum status pools_count_job(struct store_tx *tx, int64_t job_id, struct error *err) MUST_CHECK;
/* The job is about to be deleted: its cluster goes now if it ran, and its turn in a pool stays. */
enum status pools_leave(struct store_tx *tx, int64_t job_id, struct error *err) MUST_CHECK;
/* Maintenance thread: ends what is due, a shape a call. */
enum status pools_run(
	struct pipeline *pipeline, struct store_reader *reader, bool *has_more, struct error *err) MUST_CHECK;
/* Maintenance thread: jobs that are in no sum yet, those of older databases, some a call; *after_id from INT64_MIN on, INT64_MAX: done. */
enum status pools_sweep(
	struct pipeline *pipeline, struct store_reader *reader, int64_t *after_id, struct error *err) MUST_CHECK;
/* Publisher thread: an event for each pool that changed behind *change, which follows. */
void pools_publish(struct pipeline *pipeline, struct store_reader *reader, int64_t *change);
/* "WarmPoolStatus" into an object that is open, as it is at now_ms; nothing for a job without. */
enum status pools_write_status(struct store_reader *reader, struct arena *arena, int64_t job_id, int64_t now_ms,
	struct json_writer *w, struct error *err) MUST_CHECK;
/* A cluster whose time is over is gone, also before pools_run has said so. */
void pools_age(struct pool_job_row *row, int64_t now_ms);
