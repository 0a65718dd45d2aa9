#include "store/carry.h"
#include "store/driver/rows.h"
#include "store/driver/statement.h"
#include "store/stream_hosts.h"
#include "store/streams.h"

static enum status next_stream_id(struct store_tx *tx, int64_t job_id, uint32_t *id, struct error *err)
{
	return read_number(store_tx_reader(tx), "SELECT coalesce(max(stream_id), 0) + 1 FROM streams WHERE job_id = ?",
		NUMBERS(job_id), id, err);
}

#define STREAM_COLUMNS                                                                                                 \
	"job_id, stream_id, name, host, created_ms, sealed_seq, sealed_lines, sealed_bytes, first_ms, last_ms, state"

static const struct row_field fields[] = {FIELD(struct stream_row, job_id), FIELD(struct stream_row, stream_id),
	FIELD(struct stream_row, name), FIELD(struct stream_row, host), FIELD(struct stream_row, created_ms),
	FIELD(struct stream_row, sealed_seq), FIELD(struct stream_row, sealed_lines),
	FIELD(struct stream_row, sealed_bytes), FIELD(struct stream_row, first_ms), FIELD(struct stream_row, last_ms),
	FIELD_BLOB(struct stream_row, state)};

static enum status insert_stream(struct store_tx *tx, struct stream_row *row, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	struct stream_row put = *row;

	TRY(next_stream_id(tx, row->job_id, &put.stream_id, err));
	TRY(statement_open(&s, store_tx_reader(tx),
		"INSERT INTO streams (" STREAM_COLUMNS ") VALUES (?,?,?,?,?,?,?,?,?,?,?)", err));
	row_bind(&s, ROWS(fields, struct stream_row), &put);
	enum status status = statement_run(&s, err);
	if (statement_is_conflict(&s))
		return error_set(err, ERR_CONFLICT, "the job has a stream '%.*s' already", SPAN_ARGS(row->name));
	TRY(status);
	row->stream_id = put.stream_id;
	struct stream_host_row first = {
		.job_id = row->job_id, .stream_id = row->stream_id, .since_ms = row->created_ms, .host = row->host};
	return row->host.len ? store_put_stream_host(tx, &first, err) : OK;
}

/* The name and the time of creation never change: left out, their index is left alone, too. Of the host: stream_hosts.h. */
enum status store_seal_stream(struct store_tx *tx, const struct stream_row *row, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, store_tx_reader(tx),
		"UPDATE streams SET sealed_seq = ?, sealed_lines = ?, sealed_bytes = ?, first_ms = ?, last_ms = ?,"
		" state = ? WHERE job_id = ? AND stream_id = ?",
		err));
	bind_numbers(&s, row->sealed_seq, row->sealed_lines, row->sealed_bytes, row->first_ms, row->last_ms);
	bind_blob(&s, row->state);
	bind_numbers(&s, row->job_id, row->stream_id);
	return statement_run(&s, err);
}

enum status store_put_stream(struct store_tx *tx, struct stream_row *row, struct error *err)
{
	size_t changed;

	if (!row->stream_id)
		return insert_stream(tx, row, err);
	TRY(store_seal_stream(tx, row, err));
	TRY(tx_changed_rows(tx, &changed, err));
	return changed ? OK : error_set(err, ERR_NOT_FOUND, "there is no stream '%.*s' any more", SPAN_ARGS(row->name));
}

#define STREAMS "SELECT " STREAM_COLUMNS " FROM streams WHERE job_id = ?"

enum status store_read_streams(struct store_reader *reader, struct arena *arena, int64_t job_id, struct span name,
	struct stream_row **out, size_t *count, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, reader, name.len ? STREAMS " AND name = ?" : STREAMS " ORDER BY stream_id", err));
	bind_i64(&s, job_id);
	if (name.len)
		bind_text(&s, name);
	return rows_read(&s, arena, ROWS(fields, struct stream_row), out, count, err);
}

enum status store_read_streams_from(struct store_reader *reader, struct arena *arena, int64_t job_id, uint32_t first,
	struct stream_row **out, size_t *count, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, reader, STREAMS " AND stream_id >= ? ORDER BY stream_id", err));
	bind_numbers(&s, job_id, first);
	return rows_read(&s, arena, ROWS(fields, struct stream_row), out, count, err);
}

enum status store_read_stream_after(struct store_reader *reader, struct arena *arena, int64_t job_id, uint32_t after,
	struct stream_row *out, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	bool is_there;

	*out = (struct stream_row){0};
	TRY(statement_open(&s, reader, STREAMS " AND stream_id > ? ORDER BY stream_id LIMIT 1", err));
	bind_numbers(&s, job_id, after);
	return row_read(&s, arena, ROWS(fields, struct stream_row), out, &is_there, err);
}
