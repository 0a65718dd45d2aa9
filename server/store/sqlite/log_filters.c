#include "store/sqlite/sqlite_store.h"

enum status store_read_block_heads(struct store_reader *reader, struct arena *arena, int64_t job_id, uint32_t stream_id,
	struct block_head **out, size_t *count, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	struct block_head *heads = NULL;
	size_t used = 0, cap = 0;
	bool has_row;

	TRY(statement_open(&s, reader,
		"SELECT stream_id, first_line, line_count, first_ms, last_ms FROM blocks WHERE job_id = ?1"
		" AND stream_id BETWEEN ?2 AND ?3 ORDER BY stream_id, first_line",
		err));
	bind_i64(&s, job_id);
	bind_i64(&s, stream_id);
	bind_i64(&s, stream_id ? stream_id : UINT32_MAX);
	TRY(statement_step(&s, &has_row, err));
	for (; has_row; used++) {
		heads = rows_grow(arena, heads, used, &cap, sizeof *heads);
		if (!heads)
			return error_set(err, ERR_MEMORY, "out of memory");
		heads[used].stream_id = column_u32(&s);
		heads[used].first_line = column_u64(&s);
		heads[used].line_count = column_u64(&s);
		heads[used].first_ms = column_i64(&s);
		heads[used].last_ms = column_i64(&s);
		TRY(statement_step(&s, &has_row, err));
	}
	*out = heads;
	*count = used;
	return OK;
}

static enum status forget(struct store_tx *tx, const struct block_row *row, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(
		&s, tx_on(tx), "DELETE FROM log_filters WHERE job_id = ? AND stream_id = ? AND first_line = ?", err));
	bind_i64(&s, row->job_id);
	bind_i64(&s, row->stream_id);
	bind_u64(&s, row->first_line);
	return statement_run(&s, err);
}

enum status log_filter_put(struct store_tx *tx, const struct block_row *row, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	if (!row->filter.len)
		return forget(tx, row, err); /* of the text that was there before */
	TRY(statement_open(&s, tx_on(tx),
		"INSERT INTO log_filters (job_id, stream_id, first_line, filter) VALUES (?,?,?,?)"
		" ON CONFLICT (job_id, stream_id, first_line) DO UPDATE SET filter = excluded.filter",
		err));
	bind_i64(&s, row->job_id);
	bind_i64(&s, row->stream_id);
	bind_u64(&s, row->first_line);
	bind_blob(&s, row->filter);
	return statement_run(&s, err);
}

enum status store_read_log_filter(struct store_reader *reader, struct arena *arena, int64_t job_id, uint32_t stream_id,
	uint64_t first_line, struct span *filter, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	bool has_row;

	*filter = SPAN("");
	TRY(statement_open(&s, reader,
		"SELECT filter FROM log_filters WHERE job_id = ? AND stream_id = ? AND first_line = ?", err));
	bind_i64(&s, job_id);
	bind_i64(&s, stream_id);
	bind_u64(&s, first_line);
	TRY(statement_step(&s, &has_row, err));
	if (has_row)
		*filter = column_span(&s, arena);
	return statement_check(&s, err);
}
