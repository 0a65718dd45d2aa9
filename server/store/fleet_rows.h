/*
 * Job: sums over all jobs and pools that follow each change in its transaction, so that a page about the whole fleet costs what
 *      it shows; quotas.
 * Ownership and threads: as store.h.
 */
#pragma once

#include "store/store.h"

/* What of a job is counted. */
struct fleet_job {
	int64_t job_id;
	struct span status; /* TrainingJobStatus */
	struct span instance_type; /* "": not said */
	int64_t nodes; /* at least 1 */
	int64_t started_ms; /* 0: not yet, as below */
	int64_t ended_ms;
	int64_t paused_ms; /* in between: it was put aside */
	int64_t unbilled_ms; /* these, and what it had ended for, or waited for machines */
	int64_t billed_ms; /* of one node; -1: it runs, from its start to now without unbilled_ms */
};
/* store_delete_job takes it out again. */
enum status store_put_fleet_job(
	struct store_tx *tx, const struct fleet_job *job, int64_t now_ms, struct error *err) MUST_CHECK;
/* Jobs that never were counted, those of older databases: by number, above after_id. */
enum status store_read_uncounted_jobs(struct store_reader *reader, int64_t after_id, int64_t *ids, size_t limit,
	size_t *count, struct error *err) MUST_CHECK;

/*
 * jobs (by status in place of the type), nodes (of jobs that have not ended; of all and by type), node_ms (billed, of those that have, or whose time
 * is over or stated), started_nodes and started_node_ms (of those that run: the sum of nodes times their start, moved on by what is not billed), pools (by state in place of the
 * type), pool_nodes (that wait; of all and by type), held_nodes (nodes and pool_nodes), unpriced_jobs (store/goodput.h keeps it); and of no sums: nodes_of_a_job and run_ms, of which only the highest counts.
 */
struct fleet_total {
	struct span name;
	struct span instance_type;
	int64_t value;
	int64_t highest;
	int64_t highest_ms;
};
enum status store_add_fleet_total(
	struct store_tx *tx, const char *name, struct span instance_type, int64_t delta, struct error *err) MUST_CHECK;
/* After all that belongs together was added: a value in between is not the highest. */
enum status store_settle_fleet_totals(struct store_tx *tx, int64_t now_ms, struct error *err) MUST_CHECK;
enum status store_read_fleet_totals(struct store_reader *reader, struct arena *arena, struct fleet_total **rows,
	size_t *count, struct error *err) MUST_CHECK;

struct fleet_now { /* of what lives */
	int64_t oldest_started_ms; /* 0: none runs */
	int64_t longest_over_ms; /* of what nobody ended, but whose time is over */
	int64_t most_nodes; /* of one job */
	int64_t estimated_nodes; /* of jobs that do not state how many they have */
	int64_t silent; /* jobs not heard of since */
	int64_t open_incidents[3]; /* by severity */
};
enum status store_read_fleet_now(
	struct store_reader *reader, int64_t heard_before_ms, struct fleet_now *out, struct error *err) MUST_CHECK;

/* Of jobs that go on, and were heard of since (or have yet to be). */
enum status store_count_nodes_at_work(
	struct store_reader *reader, int64_t heard_before_ms, int64_t *nodes, struct error *err) MUST_CHECK;

/* Jobs not heard of since, the longest silent first. */
struct silent_job {
	struct span name;
	int64_t last_heard_ms;
};
enum status store_read_silent_jobs(struct store_reader *reader, struct arena *arena, int64_t heard_before_ms,
	size_t limit, struct silent_job **out, size_t *count, struct error *err) MUST_CHECK;

struct quota_row {
	struct span name;
	struct span instance_type; /* "": of all */
	int64_t configured; /* store_put_quota: negative takes it away */
};
enum status store_put_quota(struct store_tx *tx, const struct quota_row *row, struct error *err) MUST_CHECK;
enum status store_read_quotas(struct store_reader *reader, struct arena *arena, struct quota_row **rows, size_t *count,
	struct error *err) MUST_CHECK;
