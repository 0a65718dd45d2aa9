/* Sums over all jobs and pools, kept by each change of one; quotas. */
#include "store/driver/rows.h"
#include "store/driver/statement.h"
#include "store/fleet_rows.h"
#include "store/sql/fleet/deleted_jobs.h"

/* Types are names that clients make up, rows stay for the highest value, and each change and each page about the fleet goes through
 * all of them: a type too many is in the sums of all types alone. */
#define TOTALS_MAX "4096"
#define TOTAL_MAX "4000000000000000000"

/* A sum that no number holds stops there: it must not stop the writer. */
enum status store_add_fleet_total(
	struct store_tx *tx, const char *name, struct span instance_type, int64_t delta, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	if (!delta)
		return OK;
	TRY(statement_open(&s, store_tx_reader(tx),
		"INSERT INTO fleet_totals (name, instance_type, value, highest, highest_ms) SELECT ?1,?2,?3,0,0"
		" WHERE ?2 = '' OR ?1 IN ('jobs', 'pools') OR EXISTS (SELECT 1 FROM fleet_totals WHERE name = ?1 AND instance_type = ?2)"
		" OR (SELECT count(*) FROM fleet_totals) < " TOTALS_MAX
		" ON CONFLICT (name, instance_type) DO UPDATE SET value ="
		" CASE WHEN fleet_totals.value + ?3 > " TOTAL_MAX " THEN " TOTAL_MAX
		" WHEN fleet_totals.value + ?3 < -" TOTAL_MAX " THEN -" TOTAL_MAX " ELSE fleet_totals.value + ?3 END",
		err));
	bind_text(&s, span_from(name));
	bind_text(&s, instance_type);
	bind_i64(&s, delta);
	return statement_run(&s, err);
}

enum status store_settle_fleet_totals(struct store_tx *tx, int64_t now_ms, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, store_tx_reader(tx),
		"UPDATE fleet_totals SET highest = value, highest_ms = ? WHERE value > highest", err));
	bind_i64(&s, now_ms);
	return statement_run(&s, err);
}

/* A value that is no sum: only its highest counts. */
static enum status raise_total(struct store_tx *tx, const char *name, int64_t value, int64_t now_ms, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, store_tx_reader(tx),
		"INSERT INTO fleet_totals (name, instance_type, value, highest, highest_ms) VALUES (?1,'',0,?2,?3)"
		" ON CONFLICT (name, instance_type) DO UPDATE SET highest = ?2, highest_ms = ?3 WHERE ?2 > fleet_totals.highest",
		err));
	bind_text(&s, span_from(name));
	bind_i64(&s, value);
	bind_i64(&s, now_ms);
	return statement_run(&s, err);
}

enum status store_read_fleet_totals(
	struct store_reader *reader, struct arena *arena, struct fleet_total **rows, size_t *count, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	static const struct row_field fields[] = {FIELD(struct fleet_total, name),
		FIELD(struct fleet_total, instance_type), FIELD(struct fleet_total, value),
		FIELD(struct fleet_total, highest), FIELD(struct fleet_total, highest_ms)};

	TRY(statement_open(&s, reader,
		"SELECT name, instance_type, value, highest, highest_ms FROM fleet_totals ORDER BY name, instance_type",
		err));
	return rows_read(&s, arena, ROWS(fields, struct fleet_total), rows, count, err);
}

/* ---- jobs ---- */

static int64_t product(int64_t nodes, int64_t ms)
{
	int64_t node_ms;

	return __builtin_mul_overflow(nodes, ms, &node_ms) ? INT64_MAX / 4 : node_ms;
}

/* As often as `sign` says, for all and for its type. */
static enum status add_both(
	struct store_tx *tx, const char *name, const struct fleet_job *job, int64_t value, struct error *err)
{
	TRY(store_add_fleet_total(tx, name, SPAN(""), value, err));
	return job->instance_type.len ? store_add_fleet_total(tx, name, job->instance_type, value, err) : OK;
}

static int64_t ran_of(const struct fleet_job *job)
{
	int64_t lasted_ms = job->started_ms && job->ended_ms > job->started_ms ? job->ended_ms - job->started_ms : 0;

	return lasted_ms > job->paused_ms ? lasted_ms - job->paused_ms : 0;
}

static enum status count_job(struct store_tx *tx, const struct fleet_job *job, int sign, struct error *err)
{
	TRY(store_add_fleet_total(tx, "jobs", job->status, sign, err));
	if (job->billed_ms >= 0)
		TRY(add_both(tx, "node_ms", job, sign * product(job->nodes, job->billed_ms), err));
	if (job->ended_ms)
		return OK;
	TRY(add_both(tx, "nodes", job, sign * job->nodes, err));
	TRY(add_both(tx, "held_nodes", job, sign * job->nodes, err));
	if (!job->started_ms || job->billed_ms >= 0)
		return OK;
	TRY(store_add_fleet_total(tx, "started_nodes", SPAN(""), sign * job->nodes, err));
	return store_add_fleet_total(
		tx, "started_node_ms", SPAN(""), sign * product(job->nodes, job->started_ms + job->unbilled_ms), err);
}

static enum status read_fleet_job(struct store_reader *reader, struct arena *arena, int64_t job_id,
	struct fleet_job *out, bool *is_there, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, reader,
		"SELECT status, instance_type, nodes, started_ms, ended_ms, paused_ms, unbilled_ms, billed_ms FROM fleet_jobs"
		" WHERE job_id = ?",
		err));
	bind_i64(&s, job_id);
	TRY(statement_step(&s, is_there, err));
	if (!*is_there)
		return OK;
	out->job_id = job_id;
	out->status = column_span(&s, arena);
	out->instance_type = column_span(&s, arena);
	out->nodes = column_i64(&s);
	out->started_ms = column_i64(&s);
	out->ended_ms = column_i64(&s);
	out->paused_ms = column_i64(&s);
	out->unbilled_ms = column_i64(&s);
	out->billed_ms = column_i64(&s);
	return statement_check(&s, err);
}

static bool is_same(const struct fleet_job *a, const struct fleet_job *b)
{
	return span_equal(a->status, b->status) && span_equal(a->instance_type, b->instance_type) &&
	       a->nodes == b->nodes && a->started_ms == b->started_ms && a->ended_ms == b->ended_ms &&
	       a->paused_ms == b->paused_ms && a->unbilled_ms == b->unbilled_ms && a->billed_ms == b->billed_ms;
}

static enum status write_fleet_job(struct store_tx *tx, const struct fleet_job *job, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, store_tx_reader(tx),
		"INSERT INTO fleet_jobs (job_id, status, instance_type, nodes, started_ms, ended_ms, paused_ms, unbilled_ms, billed_ms)"
		" VALUES (?,?,?,?,?,?,?,?,?) ON CONFLICT (job_id) DO UPDATE SET status = excluded.status,"
		" instance_type = excluded.instance_type, nodes = excluded.nodes, started_ms = excluded.started_ms,"
		" ended_ms = excluded.ended_ms, paused_ms = excluded.paused_ms, unbilled_ms = excluded.unbilled_ms,"
		" billed_ms = excluded.billed_ms",
		err));
	bind_i64(&s, job->job_id);
	bind_text(&s, job->status);
	bind_text(&s, job->instance_type);
	bind_i64(&s, job->nodes);
	bind_i64(&s, job->started_ms);
	bind_i64(&s, job->ended_ms);
	bind_i64(&s, job->paused_ms);
	bind_i64(&s, job->unbilled_ms);
	bind_i64(&s, job->billed_ms);
	return statement_run(&s, err);
}

/* Times of a job that were wrong are set right, and it may be the one that ran longest. */
static enum status lower_longest_run(
	struct store_tx *tx, const struct fleet_job *old, const struct fleet_job *job, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	if (!job->ended_ms || ran_of(job) >= ran_of(old))
		return OK;
	TRY(statement_open(&s, store_tx_reader(tx),
		"UPDATE fleet_totals SET highest = (SELECT coalesce(max(ended_ms - started_ms - paused_ms), 0) FROM fleet_jobs"
		" WHERE started_ms > 0 AND ended_ms > started_ms) WHERE name = 'run_ms' AND highest <= ?",
		err));
	bind_i64(&s, ran_of(old));
	return statement_run(&s, err);
}

enum status store_put_fleet_job(struct store_tx *tx, const struct fleet_job *job, int64_t now_ms, struct error *err)
{
	AUTO(arena) arena = arena_new();
	struct fleet_job old;
	bool is_there;

	if (!arena)
		return error_no_memory(err);
	TRY(read_fleet_job(store_tx_reader(tx), arena, job->job_id, &old, &is_there, err));
	if (is_there && is_same(&old, job))
		return OK;
	if (is_there)
		TRY(count_job(tx, &old, -1, err));
	TRY(count_job(tx, job, 1, err));
	TRY(raise_total(tx, "nodes_of_a_job", job->nodes, now_ms, err));
	TRY(write_fleet_job(tx, job, err));
	if (is_there)
		TRY(lower_longest_run(tx, &old, job, err));
	return ran_of(job) ? raise_total(tx, "run_ms", ran_of(job), now_ms, err) : OK;
}

enum status fleet_forget_job(struct store_tx *tx, int64_t job_id, struct error *err)
{
	AUTO(arena) arena = arena_new();
	AUTO_DONE(statement) s = {0};
	struct fleet_job old;
	bool is_there;

	if (!arena)
		return error_no_memory(err);
	TRY(read_fleet_job(store_tx_reader(tx), arena, job_id, &old, &is_there, err));
	if (!is_there)
		return OK;
	TRY(count_job(tx, &old, -1, err));
	TRY(statement_open(&s, store_tx_reader(tx), "DELETE FROM fleet_jobs WHERE job_id = ?", err));
	bind_i64(&s, job_id);
	return statement_run(&s, err);
}

enum status store_read_uncounted_jobs(
	struct store_reader *reader, int64_t after_id, int64_t *ids, size_t limit, size_t *count, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	bool has_row;

	*count = 0;
	TRY(statement_open(&s, reader,
		"SELECT j.job_id FROM jobs AS j WHERE j.job_id > ? AND NOT EXISTS"
		" (SELECT 1 FROM fleet_jobs AS f WHERE f.job_id = j.job_id) ORDER BY j.job_id LIMIT ?",
		err));
	bind_i64(&s, after_id);
	bind_i64(&s, (int64_t)limit);
	for (;;) {
		TRY(statement_step(&s, &has_row, err));
		if (!has_row)
			return OK;
		ids[(*count)++] = column_i64(&s);
	}
}

/* Each by an index of what lives alone. */
enum status store_read_fleet_now(
	struct store_reader *reader, int64_t heard_before_ms, struct fleet_now *out, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	bool has_row;

	*out = (struct fleet_now){0};
	TRY(statement_open(&s, reader,
		"SELECT (SELECT coalesce(min(started_ms), 0) FROM fleet_jobs WHERE ended_ms = 0 AND billed_ms < 0"
		" AND started_ms > 0),"
		" (SELECT coalesce(max(billed_ms), 0) FROM fleet_jobs WHERE ended_ms = 0),"
		" (SELECT coalesce(max(nodes), 0) FROM fleet_jobs WHERE ended_ms = 0),"
		" (SELECT CAST(coalesce(sum(f.nodes), 0) AS BIGINT) FROM fleet_jobs AS f JOIN goodput AS g ON g.job_id = f.job_id"
		" WHERE f.ended_ms = 0 AND g.nodes_from > 0),"
		" (SELECT count(*) FROM fleet_jobs AS f JOIN job_counts AS c ON c.job_id = f.job_id WHERE f.ended_ms = 0"
		" AND c.last_heard_ms > 0 AND c.last_heard_ms < ?),"
		" count(CASE WHEN severity = 0 THEN 1 END), count(CASE WHEN severity = 1 THEN 1 END), count(CASE WHEN severity = 2 THEN 1 END)"
		" FROM incidents WHERE (job_id, incident_id) IN (SELECT i.job_id, CASE WHEN i.fold_id = 0 THEN i.incident_id ELSE i.fold_id END"
		" FROM incidents AS i WHERE i.state = 0)", /* as the list shows them */
		err));
	bind_i64(&s, heard_before_ms);
	TRY(statement_step(&s, &has_row, err));
	out->oldest_started_ms = column_i64(&s);
	out->longest_over_ms = column_i64(&s);
	out->most_nodes = column_i64(&s);
	out->estimated_nodes = column_i64(&s);
	out->silent = column_i64(&s);
	for (size_t i = 0; i < sizeof out->open_incidents / sizeof *out->open_incidents; i++)
		out->open_incidents[i] = column_i64(&s);
	return OK;
}

enum status store_count_nodes_at_work(
	struct store_reader *reader, int64_t heard_before_ms, int64_t *nodes, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	bool has_row;

	TRY(statement_open(&s, reader,
		"SELECT CAST(coalesce(sum(f.nodes), 0) AS BIGINT) FROM fleet_jobs AS f LEFT JOIN job_counts AS c"
		" ON c.job_id = f.job_id WHERE f.ended_ms = 0 AND f.billed_ms < 0"
		" AND (coalesce(c.last_heard_ms, 0) = 0 OR c.last_heard_ms >= ?)",
		err));
	bind_i64(&s, heard_before_ms);
	TRY(statement_step(&s, &has_row, err));
	*nodes = column_i64(&s);
	return statement_check(&s, err);
}

enum status store_read_silent_jobs(struct store_reader *reader, struct arena *arena, int64_t heard_before_ms,
	size_t limit, struct silent_job **out, size_t *count, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	bool has_row;

	*count = 0;
	*out = arena_alloc(arena, (limit + 1) * sizeof **out);
	if (!*out)
		return error_no_memory(err);
	TRY(statement_open(&s, reader,
		"SELECT j.name, c.last_heard_ms FROM fleet_jobs AS f JOIN job_counts AS c ON c.job_id = f.job_id"
		" JOIN jobs AS j ON j.job_id = f.job_id WHERE f.ended_ms = 0 AND c.last_heard_ms > 0"
		" AND c.last_heard_ms < ? ORDER BY c.last_heard_ms, j.job_id LIMIT ?",
		err));
	bind_i64(&s, heard_before_ms);
	bind_i64(&s, (int64_t)limit);
	for (;;) {
		TRY(statement_step(&s, &has_row, err));
		if (!has_row)
			return OK;
		(*out)[*count].name = column_span(&s, arena);
		(*out)[(*count)++].last_heard_ms = column_i64(&s);
		TRY(statement_check(&s, err));
	}
}

/* ---- quotas ---- */

enum status store_put_quota(struct store_tx *tx, const struct quota_row *row, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	if (row->configured < 0) {
		TRY(statement_open(
			&s, store_tx_reader(tx), "DELETE FROM quotas WHERE name = ? AND instance_type = ?", err));
	} else {
		TRY(statement_open(&s, store_tx_reader(tx),
			"INSERT INTO quotas (name, instance_type, configured) VALUES (?,?,?)"
			" ON CONFLICT (name, instance_type) DO UPDATE SET configured = excluded.configured",
			err));
	}
	bind_text(&s, row->name);
	bind_text(&s, row->instance_type);
	if (row->configured >= 0)
		bind_i64(&s, row->configured);
	return statement_run(&s, err);
}

enum status store_read_quotas(
	struct store_reader *reader, struct arena *arena, struct quota_row **rows, size_t *count, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	static const struct row_field fields[] = {FIELD(struct quota_row, name), FIELD(struct quota_row, instance_type),
		FIELD(struct quota_row, configured)};

	TRY(statement_open(
		&s, reader, "SELECT name, instance_type, configured FROM quotas ORDER BY name, instance_type", err));
	return rows_read(&s, arena, ROWS(fields, struct quota_row), rows, count, err);
}
