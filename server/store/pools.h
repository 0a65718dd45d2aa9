/* Job: warm pools: what server/fleet/pool.h derives, and from what. Ownership and threads: as store.h. */
#pragma once

#include "store/store.h"

struct pool_job_row {
	int64_t job_id;
	uint64_t shape; /* below 2^63 */
	int64_t begun_ms;
	int64_t ended_ms; /* 0: it runs */
	int64_t keep_alive_ms; /* 0: none */
	int64_t released_ms; /* 0: not before its time */
	bool is_retained;
	int64_t startup_ms; /* -1: not known */
	struct span told_heir; /* name of the job that a report says got the cluster */
	int64_t told_heir_id; /* read only; 0: there is no such job */
	struct span name; /* of the job, read only; "": it was deleted, what its cluster did was not */
	/* derived */
	int64_t pool_id; /* 0: in no pool */
	uint32_t position;
	bool is_last;
	int state; /* enum pool_state */
	int64_t heir_id; /* 0: none */
	struct span heir; /* its name; read only */
	int64_t retained_ms;
	int64_t until_ms;
	int64_t pool_begun_ms; /* of the pool's first job; read only, as is: */
	int64_t change; /* grows with each row that is written */
};
enum status store_put_pool_job(struct store_tx *tx, const struct pool_job_row *row, struct error *err) MUST_CHECK;
enum status store_delete_pool_job(struct store_tx *tx, int64_t job_id, struct error *err) MUST_CHECK;
enum status store_put_pool_shape(struct store_tx *tx, uint64_t shape, struct span fields, struct error *err) MUST_CHECK;
/* "": there is no such shape. */
enum status store_read_pool_shape(struct store_reader *reader, struct arena *arena, uint64_t shape, struct span *fields,
	struct error *err) MUST_CHECK;
/* job_id 0: the job has no part in pools. */
enum status store_read_pool_job(struct store_reader *reader, struct arena *arena, int64_t job_id,
	struct pool_job_row *out, struct error *err) MUST_CHECK;
/* Whether any job of the shape keeps its cluster. */
enum status store_has_pools(struct store_reader *reader, uint64_t shape, bool *has, struct error *err) MUST_CHECK;
/* By begun_ms, then job_id: the first `limit` that began at from_ms or later. */
enum status store_read_pool_group(struct store_reader *reader, struct arena *arena, uint64_t shape, int64_t from_ms,
	size_t limit, struct pool_job_row **rows, size_t *count, struct error *err) MUST_CHECK;
/* In no order: those that began before from_ms and whose cluster jobs that began in from_ms..to_ms, or job_id, may have got. */
struct pool_window {
	uint64_t shape;
	int64_t from_ms, to_ms;
	int64_t ended_after_ms; /* a cluster that was free before then is gone, unless it is known who got it */
	int64_t job_id; /* 0: none */
};
enum status store_read_pool_donors(struct store_reader *reader, struct arena *arena, const struct pool_window *window,
	struct pool_job_row **rows, size_t *count, struct error *err) MUST_CHECK;
/* Clusters that were left behind by jobs that ended in from_ms..at_ms, the newest first, of any shape. */
enum status store_read_pools_left(struct store_reader *reader, struct arena *arena, int64_t from_ms, int64_t at_ms,
	size_t limit, struct pool_job_row **rows, size_t *count, struct error *err) MUST_CHECK;
/* By begun_ms, of any shape: those that began in from_ms..to_ms and after the last one of the page before (job_id 0: none). */
enum status store_read_pool_jobs(struct store_reader *reader, struct arena *arena, const struct pool_job_row *after,
	int64_t from_ms, int64_t to_ms, size_t limit, struct pool_job_row **rows, size_t *count,
	struct error *err) MUST_CHECK;
/* When the first job of the shape began whose report says that `name` got its cluster; INT64_MAX: none says so. */
enum status store_read_pool_told(
	struct store_reader *reader, uint64_t shape, struct span name, int64_t *begun_ms, struct error *err) MUST_CHECK;
/* The last jobs of pools that changed after a change, in that order; and the newest change. */
enum status store_read_pool_changes(struct store_reader *reader, struct arena *arena, int64_t after, size_t limit,
	struct pool_job_row **rows, size_t *count, struct error *err) MUST_CHECK;
enum status store_last_pool_change(struct store_reader *reader, int64_t *change, struct error *err) MUST_CHECK;
/* The chain of a pool, its first job first; none: there is no such pool. */
enum status store_read_pool(struct store_reader *reader, struct arena *arena, int64_t pool_id,
	struct pool_job_row **rows, size_t *count, struct error *err) MUST_CHECK;
/* The last jobs of pools in a state (0: in any) with numbers below before_id, the newest pool first. */
enum status store_read_pools(struct store_reader *reader, struct arena *arena, int state, int64_t before_id,
	size_t limit, struct pool_job_row **rows, size_t *count, struct error *err) MUST_CHECK;
/* Until training began, of the newest jobs of a shape that got no waiting cluster; at most `limit`, the smallest first. */
enum status store_read_cold_startups(struct store_reader *reader, uint64_t shape, int64_t *out_ms, size_t limit,
	size_t *count, struct error *err) MUST_CHECK;
/* Of available pools the one that goes first; job_id 0: there is none. */
enum status store_next_pool_due(
	struct store_reader *reader, struct arena *arena, struct pool_job_row *out, struct error *err) MUST_CHECK;
struct pool_waiting {
	uint64_t shape;
	struct span fields; /* as pool_shape_print made them */
	int64_t pool_id; /* of those of the shape the one that waits longest */
	struct span job; /* the last one that used it */
	int64_t until_ms;
};
/* One a shape, of clusters that wait at now_ms. */
enum status store_read_pools_waiting(struct store_reader *reader, struct arena *arena, int64_t now_ms, size_t limit,
	struct pool_waiting **out, size_t *count, struct error *err) MUST_CHECK;
