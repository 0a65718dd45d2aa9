#include "store/driver/statement.h"
#include "store/stream_hosts.h"

enum status store_put_stream_host(struct store_tx *tx, const struct stream_host_row *row, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, store_tx_reader(tx),
		"INSERT OR REPLACE INTO stream_hosts (job_id, stream_id, number, from_line, from_ms, since_ms, until_ms, host,"
		" is_shared) VALUES (?,?,?,?,?,?,?,?,?)",
		err));
	bind_i64(&s, row->job_id);
	bind_i64(&s, row->stream_id);
	bind_i64(&s, row->number);
	bind_u64(&s, row->from_line);
	bind_i64(&s, row->from_ms);
	bind_i64(&s, row->since_ms);
	bind_i64(&s, row->until_ms);
	bind_text(&s, row->host);
	bind_i64(&s, row->is_shared);
	return statement_run(&s, err);
}

enum status store_set_present_host(
	struct store_tx *tx, int64_t job_id, uint32_t stream_id, struct span host, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(
		&s, store_tx_reader(tx), "UPDATE streams SET host = ? WHERE job_id = ? AND stream_id = ?", err));
	bind_text(&s, host);
	bind_i64(&s, job_id);
	bind_i64(&s, stream_id);
	return statement_run(&s, err);
}

static enum status read_row(struct statement *s, struct arena *arena, struct stream_host_row *row, struct error *err)
{
	row->job_id = column_i64(s);
	row->stream_id = column_u32(s);
	row->number = column_u32(s);
	row->from_line = column_u64(s);
	row->from_ms = column_i64(s);
	row->since_ms = column_i64(s);
	row->until_ms = column_i64(s);
	row->host = column_span(s, arena);
	row->is_shared = column_bool(s);
	return statement_check(s, err);
}

#define STREAM_HOSTS                                                                                                   \
	"SELECT job_id, stream_id, number, from_line, from_ms, since_ms, until_ms, host, is_shared FROM stream_hosts"  \
	" WHERE job_id = ?1"

enum status store_read_stream_hosts(struct store_reader *reader, struct arena *arena, int64_t job_id,
	uint32_t stream_id, struct stream_host_row **out, size_t *count, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	struct stream_host_row *rows = NULL;
	size_t used = 0, cap = 0;
	bool has_row;

	TRY(statement_open(&s, reader,
		stream_id ? STREAM_HOSTS " AND stream_id = ?2 ORDER BY number"
			  : STREAM_HOSTS " ORDER BY stream_id, number",
		err));
	bind_i64(&s, job_id);
	if (stream_id)
		bind_i64(&s, stream_id);
	TRY(statement_step(&s, &has_row, err));
	for (; has_row; used++) {
		if (!(rows = rows_grow(arena, rows, used, &cap, sizeof *rows)))
			return error_no_memory(err);
		TRY(read_row(&s, arena, &rows[used], err));
		TRY(statement_step(&s, &has_row, err));
	}
	*out = rows;
	*count = used;
	return OK;
}

enum status store_find_stream_host(struct store_reader *reader, struct arena *arena, int64_t job_id, uint32_t stream_id,
	uint64_t line, int64_t at_ms, struct stream_host_row *out, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	bool is_by_line = line != NO_LINE, has_row;

	*out = (struct stream_host_row){.host = SPAN("")};
	TRY(statement_open(&s, reader,
		is_by_line ? STREAM_HOSTS " AND stream_id = ?2 AND from_line <= ?3 ORDER BY number DESC LIMIT 1"
			   : STREAM_HOSTS " AND stream_id = ?2 AND from_ms <= ?3 ORDER BY number DESC LIMIT 1",
		err));
	bind_i64(&s, job_id);
	bind_i64(&s, stream_id);
	if (is_by_line)
		bind_u64(&s, line);
	else
		bind_i64(&s, at_ms);
	TRY(statement_step(&s, &has_row, err));
	return has_row ? read_row(&s, arena, out, err) : OK;
}

enum status store_drop_node_faults(struct store_tx *tx, const struct stream_host_row *row, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, store_tx_reader(tx),
		"DELETE FROM node_faults WHERE host = ? AND job_id = ? AND stream_id = ? AND line >= ?", err));
	bind_text(&s, row->host);
	bind_i64(&s, row->job_id);
	bind_i64(&s, row->stream_id);
	bind_u64(&s, row->from_line);
	return statement_run(&s, err);
}
