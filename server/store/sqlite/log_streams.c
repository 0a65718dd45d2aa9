#include "store/log_streams.h"

#include "store/sqlite/sqlite_store.h"

enum status store_put_log_stream(struct store_tx *tx, const struct log_stream_row *row, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, tx_on(tx),
		"INSERT OR REPLACE INTO log_streams (job_id, stream, suffix, created_ms, first_line) VALUES (?,?,?,?,?)",
		err));
	bind_i64(&s, row->job_id);
	bind_text(&s, row->stream);
	bind_text(&s, row->suffix);
	bind_i64(&s, row->created_ms);
	bind_u64(&s, row->first_line);
	return statement_run(&s, err);
}

enum status store_read_log_streams(struct store_reader *reader, struct arena *arena, int64_t job_id, struct span stream,
	struct log_stream_row **out, size_t *count, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	struct log_stream_row *rows = NULL;
	size_t used = 0, cap = 0;
	bool has_row;

	TRY(statement_open(&s, reader,
		"SELECT stream, suffix, created_ms, first_line FROM log_streams"
		" WHERE job_id = ?1 AND (?2 = '' OR stream = ?2) ORDER BY stream",
		err));
	bind_i64(&s, job_id);
	bind_text(&s, stream);
	TRY(statement_step(&s, &has_row, err));
	for (; has_row; used++) {
		if (!(rows = rows_grow(arena, rows, used, &cap, sizeof *rows)))
			return error_set(err, ERR_MEMORY, "out of memory");
		rows[used] = (struct log_stream_row){.job_id = job_id};
		rows[used].stream = column_span(&s, arena);
		rows[used].suffix = column_span(&s, arena);
		rows[used].created_ms = column_i64(&s);
		rows[used].first_line = column_u64(&s);
		TRY(statement_check(&s, err));
		TRY(statement_step(&s, &has_row, err));
	}
	*out = rows;
	*count = used;
	return OK;
}

enum status store_put_log_group(struct store_tx *tx, const struct log_group_row *row, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, tx_on(tx), "INSERT OR REPLACE INTO log_groups (job_id, created_ms) VALUES (?,?)", err));
	bind_i64(&s, row->job_id);
	bind_i64(&s, row->created_ms);
	return statement_run(&s, err);
}

enum status store_read_log_groups(struct store_reader *reader, struct arena *arena, struct span after, size_t limit,
	struct log_group_row **out, size_t *count, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	struct log_group_row *rows = NULL;
	size_t used = 0, cap = 0;
	bool has_row;

	TRY(statement_open(&s, reader,
		"SELECT g.job_id, j.name, g.created_ms FROM log_groups AS g JOIN jobs AS j ON j.job_id = g.job_id"
		" WHERE j.name > ?1 ORDER BY j.name LIMIT ?2",
		err));
	bind_text(&s, after);
	bind_u64(&s, limit);
	TRY(statement_step(&s, &has_row, err));
	for (; has_row; used++) {
		if (!(rows = rows_grow(arena, rows, used, &cap, sizeof *rows)))
			return error_set(err, ERR_MEMORY, "out of memory");
		rows[used] = (struct log_group_row){.job_id = column_i64(&s)};
		rows[used].name = column_span(&s, arena);
		rows[used].created_ms = column_i64(&s);
		TRY(statement_check(&s, err));
		TRY(statement_step(&s, &has_row, err));
	}
	*out = rows;
	*count = used;
	return OK;
}

enum status store_read_log_group(struct store_reader *reader, int64_t job_id, int64_t *created_ms, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	bool has_row;

	TRY(statement_open(&s, reader, "SELECT created_ms FROM log_groups WHERE job_id = ?", err));
	bind_i64(&s, job_id);
	TRY(statement_step(&s, &has_row, err));
	*created_ms = has_row ? column_i64(&s) : 0;
	return OK;
}
