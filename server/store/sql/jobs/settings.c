#include "store/columns/job_changes.h"
#include "store/driver/rows.h"
#include "store/driver/statement.h"
#include "store/job_facts.h"
#include "store/sql/jobs/attributes.h"

static enum status add(struct store_tx *tx, int64_t job_id, const struct setting_row *row, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	size_t changed;

	TRY(statement_open(&s, store_tx_reader(tx),
		"INSERT INTO job_settings (job_id, key, value, stream_id, line) VALUES (?,?,?,?,?)"
		" ON CONFLICT (job_id, key) DO NOTHING",
		err));
	bind_i64(&s, job_id);
	bind_text(&s, row->key);
	bind_text(&s, row->value);
	bind_numbers(&s, row->stream_id, row->line);
	TRY(statement_run(&s, err));
	TRY(tx_changed_rows(tx, &changed, err));
	statement_done(&s);
	if (!changed)
		return OK;
	TRY(tx_note_change(tx, job_id, SEARCH_CHANGED_DOCUMENT, err));
	return attributes_put_found(tx, job_id, row, err);
}

enum status store_add_settings(
	struct store_tx *tx, int64_t job_id, const struct setting_row *rows, size_t count, struct error *err)
{
	for (size_t i = 0; i < count; i++)
		TRY(add(tx, job_id, &rows[i], err));
	return OK;
}

enum status store_read_settings(struct store_reader *reader, struct arena *arena, int64_t job_id,
	struct setting_row **out, size_t *count, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	static const struct row_field fields[] = {FIELD(struct setting_row, key), FIELD(struct setting_row, value),
		FIELD(struct setting_row, stream_id), FIELD(struct setting_row, line),
		FIELD(struct setting_row, stream)};

	TRY(statement_open(&s, reader,
		"SELECT f.key, f.value, f.stream_id, f.line, coalesce(s.name, '') FROM job_settings f"
		" LEFT JOIN streams s ON s.job_id = f.job_id AND s.stream_id = f.stream_id"
		" WHERE f.job_id = ? ORDER BY f.key",
		err));
	bind_i64(&s, job_id);
	return rows_read(&s, arena, ROWS(fields, struct setting_row), out, count, err);
}

static const struct row_field progress_fields[] = {FIELD(struct job_progress, total_steps),
	FIELD(struct job_progress, total_from), FIELD(struct job_progress, eta_ms)};

enum status store_put_progress(
	struct store_tx *tx, int64_t job_id, const struct job_progress *progress, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, store_tx_reader(tx),
		"INSERT INTO job_progress (job_id, total_steps, total_from, eta_ms) VALUES (?,?,?,?) ON CONFLICT (job_id)"
		" DO UPDATE SET total_steps = excluded.total_steps, total_from = excluded.total_from,"
		" eta_ms = excluded.eta_ms",
		err));
	bind_i64(&s, job_id);
	row_bind(&s, ROWS(progress_fields, struct job_progress), progress);
	return statement_run(&s, err);
}

enum status store_read_progress(
	struct store_reader *reader, struct arena *arena, int64_t job_id, struct job_progress *out, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	bool is_there;

	*out = (struct job_progress){.total_from = SPAN("")};
	TRY(statement_open(
		&s, reader, "SELECT total_steps, total_from, eta_ms FROM job_progress WHERE job_id = ?", err));
	bind_i64(&s, job_id);
	return row_read(&s, arena, ROWS(progress_fields, struct job_progress), out, &is_there, err);
}
