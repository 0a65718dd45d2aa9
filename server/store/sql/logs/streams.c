#include "store/carry.h"
#include "store/driver/statement.h"
#include "store/stream_hosts.h"
#include "store/streams.h"

static enum status next_stream_id(struct store_tx *tx, int64_t job_id, int64_t *id, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	bool has_row;

	TRY(statement_open(
		&s, store_tx_reader(tx), "SELECT coalesce(max(stream_id), 0) + 1 FROM streams WHERE job_id = ?", err));
	bind_i64(&s, job_id);
	TRY(statement_step(&s, &has_row, err));
	*id = column_i64(&s);
	return OK;
}

static void bind_progress(struct statement *s, const struct stream_row *row)
{
	bind_u64(s, row->sealed_seq);
	bind_u64(s, row->sealed_lines);
	bind_u64(s, row->sealed_bytes);
	bind_i64(s, row->first_ms);
	bind_i64(s, row->last_ms);
	bind_blob(s, row->state);
}

static enum status insert_stream(struct store_tx *tx, struct stream_row *row, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	int64_t id;

	TRY(next_stream_id(tx, row->job_id, &id, err));
	TRY(statement_open(&s, store_tx_reader(tx),
		"INSERT INTO streams (sealed_seq, sealed_lines, sealed_bytes, first_ms, last_ms, state, job_id,"
		" stream_id, name, created_ms, host) VALUES (?,?,?,?,?,?,?,?,?,?,?)",
		err));
	bind_progress(&s, row);
	bind_i64(&s, row->job_id);
	bind_i64(&s, id);
	bind_text(&s, row->name);
	bind_i64(&s, row->created_ms);
	bind_text(&s, row->host);
	enum status status = statement_run(&s, err);
	if (statement_is_conflict(&s))
		return error_set(err, ERR_CONFLICT, "the job has a stream '%.*s' already", SPAN_ARGS(row->name));
	TRY(status);
	row->stream_id = (uint32_t)id;
	struct stream_host_row first = {
		.job_id = row->job_id, .stream_id = row->stream_id, .since_ms = row->created_ms, .host = row->host};
	return row->host.len ? store_put_stream_host(tx, &first, err) : OK;
}

enum status store_put_stream(struct store_tx *tx, struct stream_row *row, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	if (!row->stream_id)
		return insert_stream(tx, row, err);
	/* The name and the time of creation never change: left out, their index is left alone, too. Of the host:
	 * stream_hosts.h. */
	TRY(statement_open(&s, store_tx_reader(tx),
		"UPDATE streams SET sealed_seq = ?, sealed_lines = ?, sealed_bytes = ?, first_ms = ?, last_ms = ?,"
		" state = ? WHERE job_id = ? AND stream_id = ?",
		err));
	bind_progress(&s, row);
	bind_i64(&s, row->job_id);
	bind_i64(&s, row->stream_id);
	TRY(statement_run(&s, err));
	return tx_changed_rows(tx)
		       ? OK
		       : error_set(err, ERR_NOT_FOUND, "there is no stream '%.*s' any more", SPAN_ARGS(row->name));
}

static enum status read_stream(struct statement *s, struct arena *arena, struct stream_row *row, struct error *err)
{
	row->job_id = column_i64(s);
	row->stream_id = column_u32(s);
	row->name = column_span(s, arena);
	row->host = column_span(s, arena);
	row->created_ms = column_i64(s);
	row->sealed_seq = column_u64(s);
	row->sealed_lines = column_u64(s);
	row->sealed_bytes = column_u64(s);
	row->first_ms = column_i64(s);
	row->last_ms = column_i64(s);
	row->state = column_span(s, arena);
	return statement_check(s, err);
}

#define STREAMS                                                                                                        \
	"SELECT job_id, stream_id, name, host, created_ms, sealed_seq, sealed_lines, sealed_bytes, first_ms, last_ms," \
	" state FROM streams WHERE job_id = ?"

enum status store_read_streams(struct store_reader *reader, struct arena *arena, int64_t job_id, struct span name,
	struct stream_row **out, size_t *count, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	struct stream_row *rows = NULL;
	size_t used = 0, cap = 0;
	bool has_row;

	TRY(statement_open(&s, reader, name.len ? STREAMS " AND name = ?" : STREAMS " ORDER BY stream_id", err));
	bind_i64(&s, job_id);
	if (name.len)
		bind_text(&s, name);
	TRY(statement_step(&s, &has_row, err));
	for (; has_row; used++) {
		rows = rows_grow(arena, rows, used, &cap, sizeof *rows);
		if (!rows)
			return error_no_memory(err);
		TRY(read_stream(&s, arena, &rows[used], err));
		TRY(statement_step(&s, &has_row, err));
	}
	*out = rows;
	*count = used;
	return OK;
}

enum status store_read_stream_after(struct store_reader *reader, struct arena *arena, int64_t job_id, uint32_t after,
	struct stream_row *out, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	bool has_row;

	*out = (struct stream_row){0};
	TRY(statement_open(&s, reader, STREAMS " AND stream_id > ? ORDER BY stream_id LIMIT 1", err));
	bind_i64(&s, job_id);
	bind_i64(&s, after);
	TRY(statement_step(&s, &has_row, err));
	return has_row ? read_stream(&s, arena, out, err) : OK;
}
