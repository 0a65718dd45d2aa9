#include "store/sql/logs/log_filters.h"

#include "store/blocks.h"
#include "store/driver/common_sql.h"
#include "store/driver/rows.h"
#include "store/driver/statement.h"

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
			return error_no_memory(err);
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
	return run_with(tx, "DELETE FROM log_filters WHERE job_id = ? AND stream_id = ? AND first_line = ?",
		NUMBERS(row->job_id, row->stream_id, row->first_line), err);
}

enum status log_filter_put(struct store_tx *tx, const struct block_row *row, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	if (!row->filter.len)
		return forget(tx, row, err); /* of the text that was there before */
	TRY(statement_open(&s, store_tx_reader(tx),
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

enum status store_find_unfiltered_block(struct store_reader *reader, struct block_place *after, size_t look_at,
	bool *is_found, bool *is_end, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	bool has_row = true;
	size_t seen = 0;

	*is_found = false;
	TRY(statement_open(&s, reader,
		"SELECT b.job_id, b.stream_id, b.first_line, " SQL_TRUTH(
			"f.job_id IS NULL") " FROM blocks b LEFT JOIN log_filters f"
					    " ON f.job_id = b.job_id AND f.stream_id = b.stream_id AND f.first_line = b.first_line"
					    " WHERE (b.job_id, b.stream_id, b.first_line) > (?, ?, ?)"
					    " ORDER BY b.job_id, b.stream_id, b.first_line LIMIT ?",
		err));
	bind_i64(&s, after->job_id);
	bind_i64(&s, after->stream_id);
	bind_u64(&s, after->first_line);
	bind_u64(&s, look_at);
	for (; !*is_found; seen++) {
		TRY(statement_step(&s, &has_row, err));
		if (!has_row)
			break;
		after->job_id = column_i64(&s);
		after->stream_id = column_u32(&s);
		after->first_line = column_u64(&s);
		*is_found = column_i64(&s) != 0;
	}
	*is_end = !*is_found && seen < look_at;
	return OK;
}

enum status store_add_log_filter(struct store_tx *tx, const struct block_row *row, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, store_tx_reader(tx),
		"INSERT INTO log_filters (job_id, stream_id, first_line, filter)"
		" SELECT job_id, stream_id, first_line, ?5 FROM blocks"
		" WHERE job_id = ?1 AND stream_id = ?2 AND first_line = ?3 AND line_count = ?4"
		" ON CONFLICT (job_id, stream_id, first_line) DO NOTHING",
		err));
	bind_i64(&s, row->job_id);
	bind_i64(&s, row->stream_id);
	bind_u64(&s, row->first_line);
	bind_u64(&s, row->line_count);
	bind_blob(&s, row->filter);
	return statement_run(&s, err);
}
