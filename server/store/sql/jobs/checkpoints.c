#include "store/driver/statement.h"
#include "store/faults.h"

enum status store_put_checkpoint(struct store_tx *tx, const struct checkpoint_row *row, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, store_tx_reader(tx),
		"INSERT INTO job_checkpoints (job_id, attempt, step, ts_ms, stream_id, line) VALUES (?,?,?,?,?,?)"
		" ON CONFLICT DO UPDATE SET ts_ms = excluded.ts_ms, stream_id = excluded.stream_id, line = excluded.line"
		" WHERE (excluded.ts_ms, excluded.stream_id, excluded.line) < (ts_ms, stream_id, line)",
		err));
	bind_i64(&s, row->job_id);
	bind_i64(&s, row->attempt);
	bind_i64(&s, row->step);
	bind_i64(&s, row->ts_ms);
	bind_i64(&s, row->stream_id);
	bind_u64(&s, row->line);
	return statement_run(&s, err);
}

enum status store_read_checkpoints(struct store_reader *reader, struct arena *arena, int64_t job_id, int64_t until_ms,
	size_t limit, struct checkpoint_row **out, size_t *count, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	struct checkpoint_row *rows = NULL;
	size_t used = 0, cap = 0;
	bool has_row;

	TRY(statement_open(&s, reader,
		"SELECT c.attempt, c.step, c.ts_ms, c.stream_id, c.line, coalesce(r.name, '') FROM job_checkpoints AS c"
		" LEFT JOIN streams AS r ON r.job_id = c.job_id AND r.stream_id = c.stream_id"
		" WHERE c.job_id = ? AND c.ts_ms <= ? ORDER BY c.ts_ms DESC, c.attempt DESC, c.step DESC LIMIT ?",
		err));
	bind_i64(&s, job_id);
	bind_i64(&s, until_ms);
	bind_u64(&s, limit);
	TRY(statement_step(&s, &has_row, err));
	for (; has_row; used++) {
		if (!(rows = rows_grow(arena, rows, used, &cap, sizeof *rows)))
			return error_no_memory(err);
		rows[used].job_id = job_id;
		rows[used].attempt = column_u32(&s);
		rows[used].step = column_i64(&s);
		rows[used].ts_ms = column_i64(&s);
		rows[used].stream_id = column_u32(&s);
		rows[used].line = column_u64(&s);
		rows[used].stream = column_span(&s, arena);
		TRY(statement_check(&s, err));
		TRY(statement_step(&s, &has_row, err));
	}
	*out = rows;
	*count = used;
	return OK;
}
