#include "store/driver/common_sql.h"
#include "store/driver/rows.h"
#include "store/driver/statement.h"
#include "store/fleet_rows.h"
#include "store/pools.h"

#include <stdio.h>

/* ---- sums: of pools by state, and of what waits in them ---- */

/* The state of a pool is that of its last job; 0: the job is not the last of one. */
static int state_of_pool(const struct pool_job_row *row)
{
	return row->pool_id && row->is_last ? row->state : 0;
}

static enum status count_nodes(struct store_tx *tx, uint64_t shape, int sign, struct error *err)
{
	AUTO(arena) arena = arena_new();
	struct span fields, type, text;
	int64_t nodes;

	if (!arena)
		return error_no_memory(err);
	TRY(store_read_pool_shape(store_tx_reader(tx), arena, shape, &fields, err));
	/* as pool_shape_print wrote them */
	if (!span_next(&fields, '\n', &type) || !span_next(&fields, '\n', &text) || !span_parse_i64(text, &nodes))
		return OK;
	if (nodes < 1 || nodes > INT32_MAX)
		return OK;
	TRY(store_add_fleet_total(tx, "pool_nodes", SPAN(""), sign * nodes, err));
	TRY(store_add_fleet_total(tx, "pool_nodes", type, sign * nodes, err));
	TRY(store_add_fleet_total(tx, "held_nodes", SPAN(""), sign * nodes, err));
	return store_add_fleet_total(tx, "held_nodes", type, sign * nodes, err);
}

static enum status count_pool(struct store_tx *tx, uint64_t shape, int state, int sign, struct error *err)
{
	enum { AVAILABLE = 2 };
	char name[8];

	if (!state)
		return OK;
	snprintf(name, sizeof name, "%d", state);
	TRY(store_add_fleet_total(tx, "pools", span_from(name), sign, err));
	return state == AVAILABLE ? count_nodes(tx, shape, sign, err) : OK;
}

/* row NULL: it goes. */
static enum status recount(struct store_tx *tx, int64_t job_id, const struct pool_job_row *row, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	struct pool_job_row old = {0};
	bool has_row;

	TRY(statement_open(
		&s, store_tx_reader(tx), "SELECT shape, pool_id, is_last, state FROM pool_jobs WHERE job_id = ?", err));
	bind_i64(&s, job_id);
	TRY(statement_step(&s, &has_row, err));
	if (has_row) {
		old.shape = column_u64(&s);
		old.pool_id = column_i64(&s);
		old.is_last = column_bool(&s);
		old.state = (int)column_i64(&s);
	}
	if (row && old.shape == row->shape && state_of_pool(&old) == state_of_pool(row))
		return OK;
	TRY(count_pool(tx, old.shape, state_of_pool(&old), -1, err));
	return row ? count_pool(tx, row->shape, state_of_pool(row), 1, err) : OK;
}

/* ---- rows ---- */

enum status store_put_pool_job(struct store_tx *tx, const struct pool_job_row *row, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	int64_t change;

	TRY(recount(tx, row->job_id, row, err));
	TRY(next_id(tx, "pool_change", &change, err));
	TRY(statement_open(&s, store_tx_reader(tx),
		"INSERT INTO pool_jobs (job_id, shape, begun_ms, ended_ms, keep_alive_ms, released_ms, is_retained,"
		" startup_ms, told_heir, pool_id, position, is_last, state, heir_id, retained_ms, until_ms, change)"
		" VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?) ON CONFLICT (job_id) DO UPDATE SET shape = excluded.shape,"
		" begun_ms = excluded.begun_ms, ended_ms = excluded.ended_ms, keep_alive_ms = excluded.keep_alive_ms,"
		" released_ms = excluded.released_ms, is_retained = excluded.is_retained, startup_ms = excluded.startup_ms,"
		" told_heir = excluded.told_heir, pool_id = excluded.pool_id, position = excluded.position,"
		" is_last = excluded.is_last, state = excluded.state, heir_id = excluded.heir_id,"
		" retained_ms = excluded.retained_ms, until_ms = excluded.until_ms, change = excluded.change",
		err));
	bind_i64(&s, row->job_id);
	bind_i64(&s, (int64_t)row->shape);
	bind_i64(&s, row->begun_ms);
	bind_i64(&s, row->ended_ms);
	bind_i64(&s, row->keep_alive_ms);
	bind_i64(&s, row->released_ms);
	bind_i64(&s, row->is_retained);
	bind_i64(&s, row->startup_ms);
	bind_text(&s, row->told_heir);
	bind_i64(&s, row->pool_id);
	bind_i64(&s, row->position);
	bind_i64(&s, row->is_last);
	bind_i64(&s, row->state);
	bind_i64(&s, row->heir_id);
	bind_i64(&s, row->retained_ms);
	bind_i64(&s, row->until_ms);
	bind_i64(&s, change);
	return statement_run(&s, err);
}

enum status store_delete_pool_job(struct store_tx *tx, int64_t job_id, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(recount(tx, job_id, NULL, err));
	TRY(statement_open(&s, store_tx_reader(tx), "DELETE FROM pool_jobs WHERE job_id = ?", err));
	bind_i64(&s, job_id);
	return statement_run(&s, err);
}

enum status store_put_pool_shape(struct store_tx *tx, uint64_t shape, struct span fields, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, store_tx_reader(tx),
		"INSERT INTO pool_shapes (shape, fields) VALUES (?,?) ON CONFLICT (shape) DO NOTHING", err));
	bind_i64(&s, (int64_t)shape);
	bind_text(&s, fields);
	return statement_run(&s, err);
}

enum status store_read_pool_shape(
	struct store_reader *reader, struct arena *arena, uint64_t shape, struct span *fields, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	bool has_row;

	TRY(statement_open(&s, reader, "SELECT fields FROM pool_shapes WHERE shape = ?", err));
	bind_i64(&s, (int64_t)shape);
	TRY(statement_step(&s, &has_row, err));
	*fields = has_row ? column_span(&s, arena) : SPAN("");
	return statement_check(&s, err);
}

/*
 * Who is told to get a cluster is a name, of a job of the same shape. Who got one stays who was told to after it was deleted, until
 * a job of that shape bears its name again.
 */
#define POOL_JOBS                                                                                                              \
	"SELECT p.job_id, p.shape, p.begun_ms, p.ended_ms, p.keep_alive_ms, p.released_ms, p.is_retained, p.startup_ms,"       \
	" p.told_heir, coalesce(near.job_id, CASE WHEN p.told_heir != '' AND heir.job_id IS NULL THEN p.heir_id ELSE 0 END),"  \
	" coalesce(j.name, ''), p.pool_id, p.position, p.is_last, p.state, p.heir_id, coalesce(heir.name, ''), p.retained_ms," \
	" p.until_ms, coalesce(first.begun_ms, p.begun_ms), p.change FROM pool_jobs AS p"                                      \
	" LEFT JOIN jobs AS j ON j.job_id = p.job_id"                                                                          \
	" LEFT JOIN jobs AS told ON p.told_heir != '' AND told.name = p.told_heir"                                             \
	" LEFT JOIN pool_jobs AS near ON near.job_id = told.job_id AND near.shape = p.shape"                                   \
	" LEFT JOIN jobs AS heir ON p.heir_id != 0 AND heir.job_id = p.heir_id"                                                \
	" LEFT JOIN pool_jobs AS first ON first.job_id = p.pool_id"

/* As the indexes pool_jobs_open and pool_jobs_ended have it. */
#define RELEASED(row) SQL_GREATER(row ".ended_ms", row ".begun_ms")

static void read_columns(struct statement *s, struct arena *arena, struct pool_job_row *row)
{
	row->job_id = column_i64(s);
	row->shape = column_u64(s);
	row->begun_ms = column_i64(s);
	row->ended_ms = column_i64(s);
	row->keep_alive_ms = column_i64(s);
	row->released_ms = column_i64(s);
	row->is_retained = column_bool(s);
	row->startup_ms = column_i64(s);
	row->told_heir = column_span(s, arena);
	row->told_heir_id = column_i64(s);
	row->name = column_span(s, arena);
	row->pool_id = column_i64(s);
	row->position = column_u32(s);
	row->is_last = column_bool(s);
	row->state = (int)column_i64(s);
	row->heir_id = column_i64(s);
	row->heir = column_span(s, arena);
	row->retained_ms = column_i64(s);
	row->until_ms = column_i64(s);
	row->pool_begun_ms = column_i64(s);
	row->change = column_i64(s);
}

static enum status read_one(struct statement *s, struct arena *arena, struct pool_job_row *out, struct error *err)
{
	bool has_row;

	*out = (struct pool_job_row){0};
	TRY(statement_step(s, &has_row, err));
	if (has_row)
		read_columns(s, arena, out);
	return statement_check(s, err);
}

static enum status read_all(
	struct statement *s, struct arena *arena, struct pool_job_row **rows, size_t *count, struct error *err)
{
	size_t cap = 0;
	bool has_row;

	*rows = NULL;
	*count = 0;
	for (;;) {
		TRY(statement_step(s, &has_row, err));
		if (!has_row)
			return OK;
		*rows = rows_grow(arena, *rows, *count, &cap, sizeof **rows);
		if (!*rows)
			return error_no_memory(err);
		read_columns(s, arena, &(*rows)[(*count)++]);
		TRY(statement_check(s, err));
	}
}

enum status store_read_pool_job(
	struct store_reader *reader, struct arena *arena, int64_t job_id, struct pool_job_row *out, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, reader, POOL_JOBS " WHERE p.job_id = ?", err));
	bind_i64(&s, job_id);
	return read_one(&s, arena, out, err);
}

enum status store_has_pools(struct store_reader *reader, uint64_t shape, bool *has, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, reader, "SELECT 1 FROM pool_jobs WHERE shape = ? AND keep_alive_ms > 0 LIMIT 1", err));
	bind_i64(&s, (int64_t)shape);
	return statement_step(&s, has, err);
}

enum status store_read_pool_group(struct store_reader *reader, struct arena *arena, uint64_t shape, int64_t from_ms,
	size_t limit, struct pool_job_row **rows, size_t *count, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, reader,
		POOL_JOBS " WHERE p.shape = ? AND p.begun_ms >= ? ORDER BY p.begun_ms, p.job_id LIMIT ?", err));
	bind_i64(&s, (int64_t)shape);
	bind_i64(&s, from_ms);
	bind_i64(&s, (int64_t)limit);
	return read_all(&s, arena, rows, count, err);
}

/* In four parts, each by an index of its own: clusters that nobody got; that one of those who began since got, or was told to get;
 * and that the job got which changed, and may now be another's. */
enum status store_read_pool_donors(struct store_reader *reader, struct arena *arena, const struct pool_window *window,
	struct pool_job_row **rows, size_t *count, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, reader,
		POOL_JOBS " WHERE p.job_id IN (SELECT o.job_id FROM pool_jobs AS o WHERE o.shape = ?1 AND " RELEASED(
			"o") " > ?4"
			     " AND o.keep_alive_ms > 0 AND o.ended_ms > 0 AND o.heir_id = 0"
			     " UNION ALL SELECT d.job_id FROM pool_jobs AS w JOIN pool_jobs AS d ON d.heir_id = w.job_id AND d.heir_id != 0"
			     " WHERE w.shape = ?1 AND w.begun_ms >= ?2 AND w.begun_ms <= ?3"
			     " UNION ALL SELECT d.job_id FROM pool_jobs AS w JOIN jobs AS n ON n.job_id = w.job_id"
			     " JOIN pool_jobs AS d ON d.told_heir = n.name AND d.told_heir != ''"
			     " WHERE w.shape = ?1 AND w.begun_ms >= ?2 AND w.begun_ms <= ?3"
			     " UNION ALL SELECT d.job_id FROM pool_jobs AS d WHERE d.heir_id = ?5 AND d.heir_id != 0)"
			     " AND p.shape = ?1 AND p.begun_ms < ?2 AND p.pool_id != 0 AND NOT EXISTS (SELECT 1 FROM pool_jobs AS h"
			     " WHERE h.job_id = p.heir_id AND h.shape = ?1 AND h.begun_ms < ?2)",
		err));
	bind_i64(&s, (int64_t)window->shape);
	bind_i64(&s, window->from_ms);
	bind_i64(&s, window->to_ms);
	bind_i64(&s, window->ended_after_ms);
	bind_i64(&s, window->job_id);
	return read_all(&s, arena, rows, count, err);
}

enum status store_read_pools_left(struct store_reader *reader, struct arena *arena, int64_t from_ms, int64_t at_ms,
	size_t limit, struct pool_job_row **rows, size_t *count, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, reader,
		POOL_JOBS " WHERE p.keep_alive_ms > 0 AND p.ended_ms > 0 AND " RELEASED(
			"p") " >= ?"
			     " AND " RELEASED("p") " <= ? AND p.pool_id != 0 ORDER BY " RELEASED("p") " DESC LIMIT ?",
		err));
	bind_i64(&s, from_ms);
	bind_i64(&s, at_ms);
	bind_i64(&s, (int64_t)limit);
	return read_all(&s, arena, rows, count, err);
}

enum status store_read_pool_jobs(struct store_reader *reader, struct arena *arena, const struct pool_job_row *after,
	int64_t from_ms, int64_t to_ms, size_t limit, struct pool_job_row **rows, size_t *count, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, reader,
		POOL_JOBS
		" WHERE (p.begun_ms, p.job_id) > (?, ?) AND p.begun_ms <= ? ORDER BY p.begun_ms, p.job_id LIMIT ?",
		err));
	bind_i64(&s, after->job_id ? after->begun_ms : from_ms - 1);
	bind_i64(&s, after->job_id ? after->job_id : INT64_MAX);
	bind_i64(&s, to_ms);
	bind_i64(&s, (int64_t)limit);
	return read_all(&s, arena, rows, count, err);
}

enum status store_read_pool_told(
	struct store_reader *reader, uint64_t shape, struct span name, int64_t *begun_ms, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	bool has_row;

	TRY(statement_open(&s, reader,
		"SELECT min(begun_ms) FROM pool_jobs WHERE told_heir = ? AND told_heir != '' AND shape = ? HAVING count(*) > 0",
		err));
	bind_text(&s, name);
	bind_i64(&s, (int64_t)shape);
	TRY(statement_step(&s, &has_row, err));
	*begun_ms = has_row ? column_i64(&s) : INT64_MAX;
	return OK;
}

enum status store_read_pool_changes(struct store_reader *reader, struct arena *arena, int64_t after, size_t limit,
	struct pool_job_row **rows, size_t *count, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, reader,
		POOL_JOBS " WHERE p.is_last = 1 AND p.pool_id != 0 AND p.change > ? ORDER BY p.change LIMIT ?", err));
	bind_i64(&s, after);
	bind_i64(&s, (int64_t)limit);
	return read_all(&s, arena, rows, count, err);
}

enum status store_last_pool_change(struct store_reader *reader, int64_t *change, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	bool has_row;

	TRY(statement_open(&s, reader, "SELECT last FROM counters WHERE name = 'pool_change'", err));
	TRY(statement_step(&s, &has_row, err));
	*change = has_row ? column_i64(&s) : 0;
	return OK;
}

enum status store_read_pool(struct store_reader *reader, struct arena *arena, int64_t pool_id,
	struct pool_job_row **rows, size_t *count, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, reader, POOL_JOBS " WHERE p.pool_id = ? AND p.pool_id != 0 ORDER BY p.position", err));
	bind_i64(&s, pool_id);
	return read_all(&s, arena, rows, count, err);
}

enum status store_read_pools(struct store_reader *reader, struct arena *arena, int state, int64_t before_id,
	size_t limit, struct pool_job_row **rows, size_t *count, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	if (state) {
		TRY(statement_open(&s, reader,
			POOL_JOBS " WHERE p.is_last = 1 AND p.pool_id != 0 AND p.state = ? AND p.pool_id < ?"
				  " ORDER BY p.pool_id DESC LIMIT ?",
			err));
		bind_i64(&s, state);
	} else {
		TRY(statement_open(&s, reader,
			POOL_JOBS
			" WHERE p.is_last = 1 AND p.pool_id != 0 AND p.pool_id < ? ORDER BY p.pool_id DESC LIMIT ?",
			err));
	}
	bind_i64(&s, before_id);
	bind_i64(&s, (int64_t)limit);
	return read_all(&s, arena, rows, count, err);
}

enum status store_read_cold_startups(
	struct store_reader *reader, uint64_t shape, int64_t *out_ms, size_t limit, size_t *count, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	bool has_row;

	*count = 0;
	TRY(statement_open(&s, reader,
		"SELECT startup_ms FROM (SELECT startup_ms FROM pool_jobs INDEXED BY pool_jobs_cold WHERE shape = ? AND position = 0 AND startup_ms >= 0"
		" ORDER BY begun_ms DESC, job_id DESC LIMIT ?) AS cold ORDER BY startup_ms",
		err));
	bind_i64(&s, (int64_t)shape);
	bind_i64(&s, (int64_t)limit);
	for (;;) {
		TRY(statement_step(&s, &has_row, err));
		if (!has_row)
			return OK;
		out_ms[(*count)++] = column_i64(&s);
	}
}

enum status store_next_pool_due(
	struct store_reader *reader, struct arena *arena, struct pool_job_row *out, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, reader, POOL_JOBS " WHERE p.state = 2 ORDER BY p.until_ms LIMIT 1", err));
	return read_one(&s, arena, out, err);
}

enum status store_read_pools_waiting(struct store_reader *reader, struct arena *arena, int64_t now_ms, size_t limit,
	struct pool_waiting **out, size_t *count, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	static const struct row_field fields[] = {FIELD(struct pool_waiting, shape), FIELD(struct pool_waiting, fields),
		FIELD(struct pool_waiting, pool_id), FIELD(struct pool_waiting, job),
		FIELD(struct pool_waiting, until_ms)};

	TRY(statement_open(&s, reader,
		"SELECT p.shape, f.fields, p.pool_id, coalesce(j.name, ''), p.until_ms FROM (SELECT job_id, shape, pool_id, until_ms,"
		" row_number() OVER (PARTITION BY shape ORDER BY ended_ms, job_id) AS place FROM pool_jobs"
		" WHERE state = 2 AND until_ms > ?) AS p JOIN pool_shapes AS f ON f.shape = p.shape"
		" LEFT JOIN jobs AS j ON j.job_id = p.job_id WHERE p.place = 1 ORDER BY p.shape LIMIT ?",
		err));
	bind_i64(&s, now_ms);
	bind_i64(&s, (int64_t)limit);
	return rows_read(&s, arena, ROWS(fields, struct pool_waiting), out, count, err);
}
