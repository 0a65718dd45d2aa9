#include "store/driver/rows.h"
#include "store/driver/statement.h"
#include "store/faults.h"

enum status store_put_checkpoint(struct store_tx *tx, const struct checkpoint_row *row, struct error *err)
{
	return run_with(tx,
		"INSERT INTO job_checkpoints (job_id, attempt, step, ts_ms, stream_id, line) VALUES (?,?,?,?,?,?)"
		" ON CONFLICT (job_id, attempt, step) DO UPDATE SET ts_ms = excluded.ts_ms, stream_id = excluded.stream_id, line = excluded.line"
		" WHERE (excluded.ts_ms, excluded.stream_id, excluded.line) <"
		" (job_checkpoints.ts_ms, job_checkpoints.stream_id, job_checkpoints.line)",
		NUMBERS(row->job_id, row->attempt, row->step, row->ts_ms, row->stream_id, row->line), err);
}

static const struct row_field fields[] = {FIELD(struct checkpoint_row, job_id), FIELD(struct checkpoint_row, attempt),
	FIELD(struct checkpoint_row, step), FIELD(struct checkpoint_row, ts_ms),
	FIELD(struct checkpoint_row, stream_id), FIELD(struct checkpoint_row, line),
	FIELD(struct checkpoint_row, stream)};

/* A stream that prints no steps repeats what the others say. Of a job and until a time, each twice. */
#define CHECKPOINTS                                                                                                        \
	"SELECT c.job_id, c.attempt, c.step, c.ts_ms, c.stream_id, c.line, coalesce(r.name, '') FROM job_checkpoints AS c" \
	" LEFT JOIN streams AS r ON r.job_id = c.job_id AND r.stream_id = c.stream_id"                                     \
	" WHERE c.job_id = ? AND c.ts_ms <= ? AND (c.attempt > 0 OR c.step NOT IN"                                         \
	" (SELECT step FROM job_checkpoints WHERE job_id = ? AND attempt > 0 AND ts_ms <= ?))"

enum status store_read_checkpoints(struct store_reader *reader, struct arena *arena, int64_t job_id, int64_t until_ms,
	size_t limit, struct checkpoint_row **out, size_t *count, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, reader, CHECKPOINTS " ORDER BY c.ts_ms DESC, c.attempt DESC, c.step DESC LIMIT ?", err));
	bind_numbers(&s, job_id, until_ms, job_id, until_ms, limit);
	return rows_read(&s, arena, ROWS(fields, struct checkpoint_row), out, count, err);
}

enum status store_read_checkpoint(struct store_reader *reader, struct arena *arena, int64_t job_id, uint32_t attempt,
	int64_t step, struct checkpoint_row *out, bool *is_there, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	*out = (struct checkpoint_row){0};
	TRY(statement_open(&s, reader, CHECKPOINTS " AND c.attempt = ? AND c.step = ?", err));
	bind_numbers(&s, job_id, INT64_MAX, job_id, INT64_MAX, attempt, step);
	return row_read(&s, arena, ROWS(fields, struct checkpoint_row), out, is_there, err);
}
