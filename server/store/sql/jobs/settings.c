#include "store/columns/job_changes.h"
#include "store/driver/statement.h"
#include "store/job_facts.h"
#include "store/sql/jobs/attributes.h"

static enum status add(struct store_tx *tx, int64_t job_id, const struct setting_row *row, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, store_tx_reader(tx),
		"INSERT INTO job_settings (job_id, key, value, stream_id, line) VALUES (?,?,?,?,?)"
		" ON CONFLICT (job_id, key) DO NOTHING",
		err));
	bind_i64(&s, job_id);
	bind_text(&s, row->key);
	bind_text(&s, row->value);
	bind_i64(&s, row->stream_id);
	bind_u64(&s, row->line);
	TRY(statement_run(&s, err));
	bool is_new = tx_changed_rows(tx) == 1;
	statement_done(&s);
	if (!is_new)
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
	struct setting_row *rows = NULL;
	size_t cap = 0;
	bool has_row;

	*count = 0;
	TRY(statement_open(&s, reader,
		"SELECT f.key, f.value, f.stream_id, f.line, coalesce(s.name, '') FROM job_settings f"
		" LEFT JOIN streams s ON s.job_id = f.job_id AND s.stream_id = f.stream_id"
		" WHERE f.job_id = ? ORDER BY f.key",
		err));
	bind_i64(&s, job_id);
	for (;;) {
		TRY(statement_step(&s, &has_row, err));
		if (!has_row)
			break;
		if (!(rows = rows_grow(arena, rows, *count, &cap, sizeof *rows)))
			return error_no_memory(err);
		struct setting_row *row = &rows[(*count)++];
		row->key = column_span(&s, arena);
		row->value = column_span(&s, arena);
		row->stream_id = column_u32(&s);
		row->line = column_u64(&s);
		row->stream = column_span(&s, arena);
		TRY(statement_check(&s, err));
	}
	*out = rows;
	return OK;
}

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
	bind_i64(&s, progress->total_steps);
	bind_text(&s, progress->total_from);
	bind_i64(&s, progress->eta_ms);
	return statement_run(&s, err);
}

enum status store_read_progress(
	struct store_reader *reader, struct arena *arena, int64_t job_id, struct job_progress *out, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	bool has_row;

	*out = (struct job_progress){.total_from = SPAN("")};
	TRY(statement_open(
		&s, reader, "SELECT total_steps, total_from, eta_ms FROM job_progress WHERE job_id = ?", err));
	bind_i64(&s, job_id);
	TRY(statement_step(&s, &has_row, err));
	if (!has_row)
		return OK;
	out->total_steps = column_i64(&s);
	out->total_from = column_span(&s, arena);
	out->eta_ms = column_i64(&s);
	return statement_check(&s, err);
}
