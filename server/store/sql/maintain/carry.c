#include "store/carry.h"
#include "store/driver/rows.h"
#include "store/driver/statement.h"
#include "store/jobs.h"
#include "store/retention.h"
#include "store/sql/jobs/jobs.h"

enum status store_read_sources(struct store_reader *reader, struct arena *arena, int64_t job_id, uint32_t stream_id,
	struct source_row **out, size_t *count, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	static const struct row_field fields[] = {FIELD(struct source_row, stream_id), FIELD(struct source_row, source),
		FIELD(struct source_row, next_byte)};
	const struct source_row like = {.job_id = job_id};

	TRY(statement_open(&s, reader,
		stream_id ? "SELECT stream_id, source, next_byte FROM sources WHERE job_id = ? AND stream_id = ?"
			    " ORDER BY stream_id, source"
			  : "SELECT stream_id, source, next_byte FROM sources WHERE job_id = ?"
			    " ORDER BY stream_id, source",
		err));
	bind_i64(&s, job_id);
	if (stream_id)
		bind_i64(&s, stream_id);
	return rows_read(&s, arena, ROWS_LIKE(fields, like), out, count, err);
}

enum status store_read_stream_hits(struct store_reader *reader, struct arena *arena, int64_t job_id, uint32_t stream_id,
	struct signature_hit_row **out, size_t *count, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	static const struct row_field fields[] = {FIELD(struct signature_hit_row, signature),
		FIELD(struct signature_hit_row, first_line), FIELD(struct signature_hit_row, incident_id),
		FIELD(struct signature_hit_row, count), FIELD(struct signature_hit_row, last_line),
		FIELD(struct signature_hit_row, first_ms), FIELD(struct signature_hit_row, last_ms),
		FIELD(struct signature_hit_row, text), FIELD(struct signature_hit_row, host),
		FIELD(struct signature_hit_row, is_of_nobody)};
	const struct signature_hit_row like = {.job_id = job_id, .stream_id = stream_id};

	TRY(statement_open(&s, reader,
		"SELECT signature, first_line, incident_id, count, last_line, first_ms, last_ms, text, host, is_of_nobody"
		" FROM signature_hits"
		" WHERE job_id = ? AND stream_id = ? ORDER BY signature, first_line",
		err));
	bind_numbers(&s, job_id, stream_id);
	return rows_read(&s, arena, ROWS_LIKE(fields, like), out, count, err);
}

enum status store_read_stream_checkpoints(struct store_reader *reader, struct arena *arena, int64_t job_id,
	uint32_t stream_id, struct checkpoint_row **out, size_t *count, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	static const struct row_field fields[] = {FIELD(struct checkpoint_row, attempt),
		FIELD(struct checkpoint_row, step), FIELD(struct checkpoint_row, ts_ms),
		FIELD(struct checkpoint_row, line)};
	const struct checkpoint_row like = {.job_id = job_id, .stream_id = stream_id, .stream = SPAN("")};

	TRY(statement_open(&s, reader,
		"SELECT attempt, step, ts_ms, line FROM job_checkpoints WHERE job_id = ? AND stream_id = ?"
		" ORDER BY attempt, step",
		err));
	bind_numbers(&s, job_id, stream_id);
	return rows_read(&s, arena, ROWS_LIKE(fields, like), out, count, err);
}

/* ---- importing ---- */

static enum status check_name(struct store_tx *tx, struct span name, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	bool has_row;

	TRY(statement_open(&s, store_tx_reader(tx), "SELECT 1 FROM jobs WHERE name = ?", err));
	bind_text(&s, name);
	TRY(statement_step(&s, &has_row, err));
	return has_row ? error_set(err, ERR_CONFLICT, "there is a job '%.*s' already", SPAN_ARGS(name)) : OK;
}

enum status store_begin_import(
	struct store_tx *tx, struct span name, int64_t now_ms, int64_t *job_id, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(check_name(tx, name, err));
	TRY(next_id(tx, "job", job_id, err));
	TRY(statement_open(
		&s, store_tx_reader(tx), "INSERT INTO imports (job_id, name, begun_ms) VALUES (?,?,?)", err));
	bind_i64(&s, *job_id);
	bind_text(&s, name);
	bind_i64(&s, now_ms);
	return statement_run(&s, err);
}

enum status store_end_import(struct store_tx *tx, const struct job_row *row, struct error *err)
{
	TRY(store_insert_job(tx, row, err));
	return run_for_job(tx, "DELETE FROM imports WHERE job_id = ?", row->job_id, err);
}

/* Its rows that no sweep of a deleted job takes away, because a deletion has done so at once. */
#define EACH_IMPORT " WHERE job_id IN (SELECT job_id FROM imports WHERE ?1 = 0 OR job_id = ?1)"

static enum status drop(struct store_tx *tx, int64_t job_id, struct error *err)
{
	static const char *const steps[] = {
		"DELETE FROM incidents" EACH_IMPORT,
		"DELETE FROM expired_text" EACH_IMPORT,
		"DELETE FROM signature_hits" EACH_IMPORT,
		"DELETE FROM job_checkpoints" EACH_IMPORT,
		"DELETE FROM stream_hosts" EACH_IMPORT,
		"DELETE FROM told_hosts" EACH_IMPORT,
		"DELETE FROM hosts_by_hand" EACH_IMPORT,
		"INSERT INTO dead_jobs (job_id) SELECT job_id FROM imports WHERE ?1 = 0 OR job_id = ?1",
		"DELETE FROM imports WHERE ?1 = 0 OR job_id = ?1",
	};

	for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
		TRY(run_for_job(tx, steps[i], job_id, err));
	return OK;
}

enum status store_drop_import(struct store_tx *tx, int64_t job_id, struct error *err)
{
	return drop(tx, job_id, err);
}

enum status store_drop_imports(struct store_tx *tx, struct error *err)
{
	return drop(tx, 0, err);
}

enum status store_import_expired(struct store_tx *tx, int64_t job_id, const struct expired_text *row, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, store_tx_reader(tx),
		"INSERT INTO expired_text (job_id, stream_id, first_kept_line, bytes, first_ms, last_ms, deleted_ms, reason)"
		" VALUES (?,?,?,?,?,?,?,?)",
		err));
	bind_numbers(&s, job_id, row->stream_id, row->first_kept_line, row->bytes, row->first_ms, row->last_ms,
		row->deleted_ms);
	bind_text(&s, row->reason);
	return statement_run(&s, err);
}
