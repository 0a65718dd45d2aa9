/* MLflow's database in a file (mlflow.db). The schema is MLflow's; what its older versions lack is counted as none. */
#include "base/alloc.h"
#include "cli/moving/mlflow_source.h"

#include <math.h>
#include <sqlite3.h>

enum { BUSY_MS = 5000 };

struct database {
	sqlite3 *connection;
	sqlite3_stmt *runs, *params, *tags, *metrics, *points, *inputs;
};

static const char runs_sql[] =
	"SELECT r.run_uuid, coalesce(r.name, ''), coalesce(r.user_id, ''), coalesce(r.status, ''), coalesce(r.artifact_uri, ''), "
	"coalesce(e.name, ''), coalesce(r.start_time, 0), coalesce(r.end_time, 0), "
	"coalesce(r.lifecycle_stage, '') = 'deleted' OR coalesce(e.lifecycle_stage, '') = 'deleted' "
	"FROM runs r LEFT JOIN experiments e ON e.experiment_id = r.experiment_id ORDER BY r.start_time, r.run_uuid";

static enum status fail(const struct database *database, struct error *err)
{
	return error_set(err, ERR_IO, "cannot read MLflow's database: %s", sqlite3_errmsg(database->connection));
}

static enum status prepare(struct database *database, sqlite3_stmt **out, const char *sql, struct error *err)
{
	return sqlite3_prepare_v2(database->connection, sql, -1, out, NULL) == SQLITE_OK ? OK : fail(database, err);
}

static enum status step(const struct database *database, sqlite3_stmt *statement, bool *has_row, struct error *err)
{
	int code = sqlite3_step(statement);

	*has_row = code == SQLITE_ROW;
	return code == SQLITE_ROW || code == SQLITE_DONE ? OK : fail(database, err);
}

static struct span text_at(sqlite3_stmt *statement, int column)
{
	const char *text = (const char *)sqlite3_column_text(statement, column);

	return text ? span_of(text, (size_t)sqlite3_column_bytes(statement, column)) : SPAN("");
}

/* From its beginning, for the run and, of two parameters, a key. */
static enum status begin(const struct database *database, sqlite3_stmt *statement, struct span run_id, struct span key,
	struct error *err)
{
	sqlite3_reset(statement);
	if (sqlite3_bind_text(statement, 1, run_id.ptr, (int)run_id.len, SQLITE_TRANSIENT) != SQLITE_OK ||
		(key.len && sqlite3_bind_text(statement, 2, key.ptr, (int)key.len, SQLITE_TRANSIENT) != SQLITE_OK))
		return fail(database, err);
	return OK;
}

static enum status read_pairs(struct database *database, sqlite3_stmt *statement, struct mlflow_past_run *run,
	struct mlflow_pairs *pairs, struct error *err)
{
	bool has_row;

	TRY(begin(database, statement, run->id, SPAN(""), err));
	for (;;) {
		TRY(step(database, statement, &has_row, err));
		if (!has_row)
			return OK;
		if (!mlflow_pairs_add(run->arena, pairs, text_at(statement, 0), text_at(statement, 1)))
			return error_no_memory(err);
	}
}

static enum status count_inputs(struct database *database, struct mlflow_past_run *run, struct error *err)
{
	bool has_row;

	if (!database->inputs)
		return OK;
	TRY(begin(database, database->inputs, run->id, SPAN(""), err));
	TRY(step(database, database->inputs, &has_row, err));
	run->left.datasets = has_row ? (size_t)sqlite3_column_int64(database->inputs, 0) : 0;
	sqlite3_reset(database->inputs);
	return OK;
}

static enum status database_next(void *state, struct mlflow_past_run *out, bool *is_end, struct error *err)
{
	struct database *database = state;
	sqlite3_stmt *row = database->runs;
	struct span *const texts[] = {
		&out->id, &out->name, &out->user, &out->status, &out->artifacts, &out->experiment};
	bool has_row;

	TRY(step(database, row, &has_row, err));
	*is_end = !has_row;
	if (!has_row)
		return OK;
	if (!(out->arena = arena_new()))
		return error_no_memory(err);
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		*texts[i] = arena_copy(out->arena, text_at(row, (int)i));
		if (!texts[i]->ptr)
			return error_no_memory(err);
	}
	out->start_ms = sqlite3_column_int64(row, 6);
	out->end_ms = sqlite3_column_int64(row, 7);
	out->is_deleted = sqlite3_column_int(row, 8);
	TRY(read_pairs(database, database->params, out, &out->params, err));
	TRY(read_pairs(database, database->tags, out, &out->tags, err));
	TRY(read_pairs(database, database->metrics, out, &out->metrics, err));
	return count_inputs(database, out, err);
}

static enum status database_points(void *state, const struct mlflow_past_run *run, const struct mlflow_pair *metric,
	mlflow_take_point *take, void *context, struct error *err)
{
	struct database *database = state;
	sqlite3_stmt *row = database->points;
	bool has_row;

	TRY(begin(database, row, run->id, metric->key, err));
	for (;;) {
		TRY(step(database, row, &has_row, err));
		if (!has_row)
			return OK;
		const struct mlflow_point point = {.ts_ms = sqlite3_column_int64(row, 0),
			.step = sqlite3_column_int64(row, 1),
			.value = sqlite3_column_int(row, 3) ? (double)NAN
							    : mlflow_stored_value(sqlite3_column_double(row, 2))};
		TRY(take(context, &point, err));
	}
}

static void database_free(void *state)
{
	struct database *database = state;
	sqlite3_stmt *const statements[] = {database->runs, database->params, database->tags, database->metrics,
		database->points, database->inputs};

	for (size_t i = 0; i < sizeof statements / sizeof *statements; i++)
		sqlite3_finalize(statements[i]);
	sqlite3_close(database->connection);
	mem_free(database);
}

/* ---- opening ---- */

static enum status has_table(struct database *database, const char *name, bool *out, struct error *err)
{
	sqlite3_stmt *statement = NULL;

	TRY(prepare(database, &statement, "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", err));
	enum status status = begin(database, statement, span_from(name), SPAN(""), err);
	if (status == OK)
		status = step(database, statement, out, err);
	sqlite3_finalize(statement);
	return status;
}

/* sql counts the rows of the table. */
static enum status count_rows(
	struct database *database, const char *table, const char *sql, size_t *count, struct error *err)
{
	sqlite3_stmt *statement = NULL;
	bool has;

	TRY(has_table(database, table, &has, err));
	if (!has)
		return OK;
	TRY(prepare(database, &statement, sql, err));
	enum status status = step(database, statement, &has, err);
	if (status == OK && has)
		*count = (size_t)sqlite3_column_int64(statement, 0);
	sqlite3_finalize(statement);
	return status;
}

static enum status prepare_all(struct database *database, struct error *err)
{
	bool has_inputs;

	TRY(prepare(database, &database->runs, runs_sql, err));
	TRY(prepare(database, &database->params, "SELECT key, value FROM params WHERE run_uuid = ? ORDER BY key", err));
	TRY(prepare(database, &database->tags, "SELECT key, value FROM tags WHERE run_uuid = ? ORDER BY key", err));
	TRY(prepare(database, &database->metrics,
		"SELECT DISTINCT key, '' FROM metrics WHERE run_uuid = ? ORDER BY key", err));
	TRY(prepare(database, &database->points,
		"SELECT timestamp, step, value, is_nan FROM metrics WHERE run_uuid = ? AND key = ? ORDER BY rowid",
		err));
	TRY(has_table(database, "inputs", &has_inputs, err));
	if (has_inputs)
		TRY(prepare(database, &database->inputs,
			"SELECT count(*) FROM inputs WHERE destination_type = 'RUN' AND destination_id = ?", err));
	return OK;
}

enum status mlflow_database_open(struct mlflow_source *out, const char *path, struct error *err)
{
	static const struct mlflow_source_kind kind = {database_next, database_points, database_free};
	struct database *database = mem_zeroed(sizeof *database);
	bool has_runs;

	if (!database)
		return error_no_memory(err);
	*out = (struct mlflow_source){.kind = &kind, .state = database};
	if (sqlite3_open_v2(path, &database->connection, SQLITE_OPEN_READONLY, NULL) != SQLITE_OK)
		return error_set(err, ERR_INVALID, "cannot open '%s': %s", path,
			database->connection ? sqlite3_errmsg(database->connection) : "out of memory");
	sqlite3_busy_timeout(database->connection, BUSY_MS);
	TRY(has_table(database, "runs", &has_runs, err));
	if (!has_runs)
		return error_set(err, ERR_INVALID, "'%s' is no database of MLflow: it has no table 'runs'", path);
	TRY(count_rows(database, "runs", "SELECT count(*) FROM runs", &out->count, err));
	TRY(count_rows(database, "trace_info", "SELECT count(*) FROM trace_info", &out->left.traces, err));
	TRY(count_rows(database, "logged_models", "SELECT count(*) FROM logged_models", &out->left.models, err));
	return prepare_all(database, err);
}
