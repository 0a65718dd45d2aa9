/* A job's history: its secondary statuses, and the generations of its metric definitions. */
#include "store/definitions.h"
#include "store/driver/common_sql.h"
#include "store/driver/rows.h"
#include "store/driver/statement.h"
#include "store/sql/jobs/unbilled.h"
#include "store/transitions.h"

static const struct row_field fields[] = {FIELD(struct transition_row, status), FIELD(struct transition_row, message),
	FIELD(struct transition_row, start_ms), FIELD(struct transition_row, end_ms),
	FIELD(struct transition_row, source)};

static enum status insert(
	struct store_tx *tx, int64_t job_id, int64_t position, const struct transition_row *row, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, store_tx_reader(tx),
		"INSERT INTO transitions (job_id, position, status, message, start_ms, end_ms, source) VALUES (?,?,?,?,?,?,?)",
		err));
	bind_numbers(&s, job_id, position);
	row_bind(&s, ROWS(fields, struct transition_row), row);
	return statement_run(&s, err);
}

enum status store_put_transitions(
	struct store_tx *tx, int64_t job_id, const struct transition_row *rows, size_t count, struct error *err)
{
	TRY(run_for_job(tx, "DELETE FROM transitions WHERE job_id = ?", job_id, err));
	for (size_t i = 0; i < count; i++)
		TRY(insert(tx, job_id, (int64_t)i, &rows[i], err));
	return OK;
}

enum status store_put_newest_event(struct store_tx *tx, int64_t job_id, int64_t newest_ms, struct error *err)
{
	return run_with(tx,
		"INSERT INTO job_events (job_id, newest_ms) VALUES (?,?)"
		" ON CONFLICT (job_id) DO UPDATE SET newest_ms = excluded.newest_ms",
		NUMBERS(job_id, newest_ms), err);
}

enum status store_read_newest_event(struct store_reader *reader, int64_t job_id, int64_t *newest_ms, struct error *err)
{
	*newest_ms = 0;
	return read_number(
		reader, "SELECT newest_ms FROM job_events WHERE job_id = ?", NUMBERS(job_id), newest_ms, err);
}

enum status store_read_transitions(struct store_reader *reader, struct arena *arena, int64_t job_id,
	struct transition_row **out, size_t *count, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, reader,
		"SELECT status, message, start_ms, end_ms, source FROM transitions WHERE job_id = ? ORDER BY position",
		err));
	bind_i64(&s, job_id);
	return rows_read(&s, arena, ROWS(fields, struct transition_row), out, count, err);
}

enum status store_read_idle(struct store_reader *reader, int64_t job_id, int64_t from_ms, int64_t to_ms,
	int64_t *idle_ms, struct error *err)
{
	return read_number(reader,
		"SELECT CAST(coalesce(sum(" SQL_LESSER("end_ms",
			"?3") " - start_ms), 0) AS BIGINT) FROM transitions WHERE job_id = ?1 AND start_ms BETWEEN ?2 AND ?3"
			      " AND end_ms > start_ms AND status IN " UNBILLED_STATUSES,
		NUMBERS(job_id, from_ms, to_ms), idle_ms, err);
}

enum status store_put_definitions(
	struct store_tx *tx, int64_t job_id, uint32_t generation, struct span json, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, store_tx_reader(tx),
		"INSERT INTO definitions (job_id, generation, json) VALUES (?,?,?)"
		" ON CONFLICT (job_id, generation) DO UPDATE SET json = excluded.json",
		err));
	bind_numbers(&s, job_id, generation);
	bind_text(&s, json);
	return statement_run(&s, err);
}

enum status store_read_definitions(struct store_reader *reader, struct arena *arena, int64_t job_id,
	uint32_t generation, struct span *json, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	bool has_row;

	TRY(statement_open(&s, reader, "SELECT json FROM definitions WHERE job_id = ? AND generation = ?", err));
	bind_numbers(&s, job_id, generation);
	TRY(statement_step(&s, &has_row, err));
	struct span text = has_row ? column_span(&s, arena) : SPAN("");
	TRY(statement_check(&s, err));
	*json = text;
	return OK;
}
