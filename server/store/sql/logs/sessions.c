#include "store/driver/common_sql.h"
#include "store/driver/rows.h"
#include "store/driver/statement.h"
#include "store/sessions.h"

enum status store_read_run_name(struct store_reader *reader, struct arena *arena, struct span asked,
	struct span run_key, struct span *name, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	bool has_row;

	*name = SPAN("");
	TRY(statement_open(&s, reader, "SELECT name FROM run_names WHERE asked = ? AND run_key = ?", err));
	bind_text(&s, asked);
	bind_text(&s, run_key);
	TRY(statement_step(&s, &has_row, err));
	if (has_row)
		*name = column_span(&s, arena);
	return statement_check(&s, err);
}

enum status store_put_run_name(
	struct store_tx *tx, struct span asked, struct span run_key, struct span name, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, store_tx_reader(tx),
		"INSERT INTO run_names (asked, run_key, name) VALUES (?,?,?) ON CONFLICT (asked, run_key) DO UPDATE SET"
		" name = excluded.name",
		err));
	bind_text(&s, asked);
	bind_text(&s, run_key);
	bind_text(&s, name);
	return statement_run(&s, err);
}

static enum status count_sources(
	struct store_reader *reader, const struct source_row *row, size_t *count, struct error *err)
{
	return read_number(reader, "SELECT count(*) FROM sources WHERE job_id = ? AND stream_id = ? AND source <> ''",
		NUMBERS(row->job_id, row->stream_id), count, err);
}

enum status store_read_source(
	struct store_reader *reader, struct source_row *row, bool *is_known, size_t *count, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(
		&s, reader, "SELECT next_byte FROM sources WHERE job_id = ? AND stream_id = ? AND source = ?", err));
	bind_numbers(&s, row->job_id, row->stream_id);
	bind_text(&s, row->source);
	TRY(statement_step(&s, is_known, err));
	row->next_byte = *is_known ? column_u64(&s) : 0;
	*count = 0;
	return *is_known ? OK : count_sources(reader, row, count, err);
}

enum status store_put_source(struct store_tx *tx, const struct source_row *row, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, store_tx_reader(tx),
		"INSERT INTO sources (job_id, stream_id, source, next_byte) VALUES (?,?,?,?)"
		" ON CONFLICT (job_id, stream_id, source) DO UPDATE SET next_byte = excluded.next_byte",
		err));
	bind_numbers(&s, row->job_id, row->stream_id);
	bind_text(&s, row->source);
	bind_u64(&s, row->next_byte);
	return statement_run(&s, err);
}

static const struct row_field exit_fields[] = {FIELD(struct exit_row, job_id), FIELD(struct exit_row, stream_id),
	FIELD(struct exit_row, code), FIELD(struct exit_row, signal), FIELD(struct exit_row, reason),
	FIELD(struct exit_row, at_ms)};

enum status store_put_exit(struct store_tx *tx, const struct exit_row *row, struct error *err)
{
	return row_put(tx,
		"INSERT INTO exits (job_id, stream_id, code, signal, reason, at_ms) VALUES (?,?,?,?,?,?)"
		" ON CONFLICT (job_id, stream_id) DO UPDATE SET code = excluded.code, signal = excluded.signal,"
		" reason = excluded.reason, at_ms = excluded.at_ms",
		ROWS(exit_fields, struct exit_row), row, err);
}

enum status store_delete_exit(struct store_tx *tx, int64_t job_id, uint32_t stream_id, struct error *err)
{
	return run_with(tx, "DELETE FROM exits WHERE job_id = ? AND stream_id = ?", NUMBERS(job_id, stream_id), err);
}

enum status store_read_exits(struct store_reader *reader, struct arena *arena, int64_t job_id, struct exit_row **out,
	size_t *count, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, reader,
		"SELECT job_id, stream_id, code, signal, reason, at_ms FROM exits WHERE job_id = ? ORDER BY stream_id",
		err));
	bind_i64(&s, job_id);
	return rows_read(&s, arena, ROWS(exit_fields, struct exit_row), out, count, err);
}

static enum status next_command_id(struct store_tx *tx, int64_t job_id, int64_t *id, struct error *err)
{
	return read_number(store_tx_reader(tx),
		"SELECT coalesce(max(command_id), 0) + 1 FROM commands WHERE job_id = ?", NUMBERS(job_id), id, err);
}

static const struct row_field command_fields[] = {FIELD(struct command_row, job_id),
	FIELD(struct command_row, command_id), FIELD(struct command_row, command), FIELD(struct command_row, stream),
	FIELD(struct command_row, created_ms)};

enum status store_add_command(struct store_tx *tx, struct command_row *row, struct error *err)
{
	TRY(next_command_id(tx, row->job_id, &row->command_id, err));
	return row_put(tx, "INSERT INTO commands (job_id, command_id, command, stream, created_ms) VALUES (?,?,?,?,?)",
		ROWS(command_fields, struct command_row), row, err);
}

enum status store_read_commands(struct store_reader *reader, struct arena *arena, int64_t job_id,
	struct command_row **out, size_t *count, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, reader,
		"SELECT job_id, command_id, command, stream, created_ms FROM commands WHERE job_id = ? ORDER BY command_id",
		err));
	bind_i64(&s, job_id);
	return rows_read(&s, arena, ROWS(command_fields, struct command_row), out, count, err);
}

enum status store_has_command(
	struct store_reader *reader, int64_t job_id, int64_t command_id, bool *has, struct error *err)
{
	*has = false;
	return read_number(reader, "SELECT 1 FROM commands WHERE job_id = ? AND command_id = ?",
		NUMBERS(job_id, command_id), has, err);
}

static const struct row_field ack_fields[] = {FIELD(struct command_ack_row, job_id),
	FIELD(struct command_ack_row, command_id), FIELD(struct command_ack_row, stream),
	FIELD(struct command_ack_row, delivered_ms), FIELD(struct command_ack_row, acknowledged_ms),
	FIELD(struct command_ack_row, result)};

enum status store_put_command_ack(struct store_tx *tx, const struct command_ack_row *row, struct error *err)
{
	return row_put(tx,
		"INSERT INTO command_acks (job_id, command_id, stream, delivered_ms, acknowledged_ms, result)"
		" VALUES (?,?,?,?,?,?) ON CONFLICT (job_id, command_id, stream) DO NOTHING",
		ROWS(ack_fields, struct command_ack_row), row, err);
}

enum status store_read_command_acks(struct store_reader *reader, struct arena *arena, int64_t job_id,
	struct command_ack_row **out, size_t *count, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, reader,
		"SELECT job_id, command_id, stream, delivered_ms, acknowledged_ms, result FROM command_acks WHERE job_id = ?"
		" ORDER BY command_id, stream",
		err));
	bind_i64(&s, job_id);
	return rows_read(&s, arena, ROWS(ack_fields, struct command_ack_row), out, count, err);
}

/* ---- streams that have, or had, one ---- */

enum status store_put_session(
	struct store_tx *tx, int64_t job_id, uint32_t stream_id, int64_t opened_ms, struct error *err)
{
	return run_with(tx,
		"INSERT INTO sessions (job_id, stream_id, opened_ms) VALUES (?,?,?)"
		" ON CONFLICT (job_id, stream_id) DO UPDATE SET opened_ms = excluded.opened_ms",
		NUMBERS(job_id, stream_id, opened_ms), err);
}

enum status store_delete_session(struct store_tx *tx, int64_t job_id, uint32_t stream_id, struct error *err)
{
	return run_with(tx, "DELETE FROM sessions WHERE job_id = ? AND stream_id = ?", NUMBERS(job_id, stream_id), err);
}

enum status store_read_held(struct store_reader *reader, struct arena *arena, int64_t job_id, struct held_row **out,
	size_t *count, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	static const struct row_field fields[] = {FIELD(struct held_row, stream_id), FIELD(struct held_row, stream),
		FIELD(struct held_row, host), FIELD(struct held_row, opened_ms), FIELD(struct held_row, has_exit),
		FIELD(struct held_row, code), FIELD(struct held_row, signal), FIELD(struct held_row, reason),
		FIELD(struct held_row, exit_ms)};

	TRY(statement_open(&s, reader,
		"SELECT h.stream_id, s.name, s.host, h.opened_ms, " SQL_TRUTH(
			"e.job_id IS NOT NULL") ","
						" coalesce(e.code, 0), coalesce(e.signal, 0), coalesce(e.reason, ''), coalesce(e.at_ms, 0) FROM sessions AS h"
						" JOIN streams AS s ON s.job_id = h.job_id AND s.stream_id = h.stream_id"
						" LEFT JOIN exits AS e ON e.job_id = h.job_id AND e.stream_id = h.stream_id"
						" WHERE h.job_id = ? ORDER BY h.stream_id",
		err));
	bind_i64(&s, job_id);
	return rows_read(&s, arena, ROWS(fields, struct held_row), out, count, err);
}

enum status store_read_held_if_any_ended(struct store_reader *reader, struct arena *arena, int64_t job_id,
	struct held_row **out, size_t *count, struct error *err)
{
	bool has_any = false;

	*out = NULL;
	*count = 0;
	TRY(read_number(reader, "SELECT 1 FROM exits WHERE job_id = ? LIMIT 1", NUMBERS(job_id), &has_any, err));
	return has_any ? store_read_held(reader, arena, job_id, out, count, err) : OK;
}
