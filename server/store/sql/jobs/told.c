#include "store/driver/common_sql.h"
#include "store/driver/rows.h"
#include "store/driver/statement.h"
#include "store/told.h"

/* ---- facts ---- */

static const struct row_field fields[] = {FIELD(struct told_row, source), FIELD(struct told_row, start_ms),
	FIELD(struct told_row, status), FIELD(struct told_row, message), FIELD(struct told_row, reason),
	FIELD(struct told_row, is_whole), FIELD(struct told_row, lifts_ms), FIELD(struct told_row, is_undated)};

enum status store_put_told(struct store_tx *tx, int64_t job_id, const struct told_row *row, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, store_tx_reader(tx),
		"INSERT INTO told (job_id, source, start_ms, status, message, reason, is_whole, lifts_ms, is_undated)"
		" VALUES (?,?,?,?,?,?,?,?,?) ON CONFLICT (job_id, source, start_ms, status) DO UPDATE SET"
		" message = CASE WHEN excluded.message = '' THEN told.message ELSE excluded.message END,"
		" reason = CASE WHEN excluded.reason = '' THEN told.reason ELSE excluded.reason END,"
		" is_whole = " SQL_GREATER("told.is_whole",
			"excluded.is_whole") ","
					     " lifts_ms = " SQL_GREATER("told.lifts_ms",
						     "excluded.lifts_ms") ","
									  " is_undated = " SQL_LESSER("told.is_undated",
										  "excluded.is_undated"),
		err));
	bind_i64(&s, job_id);
	row_bind(&s, ROWS(fields, struct told_row), row);
	return statement_run(&s, err);
}

enum status store_delete_told(struct store_tx *tx, int64_t job_id, const struct told_row *row, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, store_tx_reader(tx),
		"DELETE FROM told WHERE job_id = ? AND source = ? AND start_ms = ? AND status = ?", err));
	bind_numbers(&s, job_id, row->source, row->start_ms);
	bind_text(&s, row->status);
	return statement_run(&s, err);
}

enum status store_read_told_facts(struct store_reader *reader, struct arena *arena, int64_t job_id,
	struct told_row **out, size_t *count, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, reader,
		"SELECT source, start_ms, status, message, reason, is_whole, lifts_ms, is_undated FROM told WHERE job_id = ?"
		" ORDER BY start_ms, source, status",
		err));
	bind_i64(&s, job_id);
	return rows_read(&s, arena, ROWS(fields, struct told_row), out, count, err);
}

enum status store_has_undated(struct store_reader *reader, int64_t job_id, bool *has, struct error *err)
{
	*has = false;
	return read_number(
		reader, "SELECT 1 FROM told WHERE job_id = ? AND is_undated = 1 LIMIT 1", NUMBERS(job_id), has, err);
}

/* ---- events ---- */

enum status store_put_event_times(
	struct store_tx *tx, int64_t job_id, const struct event_times *times, struct error *err)
{
	return run_with(tx,
		"INSERT INTO job_events (job_id, newest_ms, started_ms, ended_ms) VALUES (?1,0,?2,?3)"
		" ON CONFLICT (job_id) DO UPDATE SET"
		" started_ms = CASE WHEN ?2 <> 0 THEN ?2 ELSE job_events.started_ms END,"
		" ended_ms = CASE WHEN ?3 <> 0 THEN ?3 ELSE job_events.ended_ms END",
		NUMBERS(job_id, times->started_ms, times->ended_ms), err);
}

enum status store_read_event_times(
	struct store_reader *reader, int64_t job_id, struct event_times *out, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	static const struct row_field times[] = {
		FIELD(struct event_times, started_ms), FIELD(struct event_times, ended_ms)};

	*out = (struct event_times){0};
	TRY(statement_open(&s, reader, "SELECT started_ms, ended_ms FROM job_events WHERE job_id = ?", err));
	bind_i64(&s, job_id);
	return row_read(&s, NULL, ROWS(times, struct event_times), out, &out->is_told, err);
}

/* ---- jobs to be looked at ---- */

static const struct row_field ids[] = {FIELD_ALONE(int64_t)};

enum status store_read_stopping(struct store_reader *reader, struct arena *arena, size_t limit, int64_t **job_ids,
	size_t *count, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, reader,
		"SELECT job_id FROM jobs WHERE status = 'Stopping'"
		" AND job_id NOT IN (SELECT job_id FROM job_events) ORDER BY created_ms LIMIT ?",
		err));
	bind_u64(&s, limit);
	return rows_read(&s, arena, ROWS(ids, int64_t), job_ids, count, err);
}

enum status store_read_told_anew(struct store_reader *reader, struct arena *arena, size_t limit, int64_t **job_ids,
	size_t *count, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, reader, "SELECT job_id FROM told_anew LIMIT ?", err));
	bind_u64(&s, limit);
	return rows_read(&s, arena, ROWS(ids, int64_t), job_ids, count, err);
}

enum status store_is_told_anew(struct store_reader *reader, int64_t job_id, bool *is, struct error *err)
{
	*is = false;
	return read_number(reader, "SELECT 1 FROM told_anew WHERE job_id = ?", NUMBERS(job_id), is, err);
}

enum status store_settle_told_anew(struct store_tx *tx, int64_t job_id, struct error *err)
{
	return run_for_job(tx, "DELETE FROM told_anew WHERE job_id = ?", job_id, err);
}
