#include "store/gpu_traces.h"
#include "store/driver/rows.h"
#include "store/driver/statement.h"

#define COLUMNS "stream, trace, document, received_ms, author"

static const struct row_field fields[] = {FIELD(struct gpu_trace_row, stream), FIELD(struct gpu_trace_row, trace),
	FIELD(struct gpu_trace_row, document), FIELD(struct gpu_trace_row, received_ms),
	FIELD(struct gpu_trace_row, author)};

enum status store_put_gpu_trace(struct store_tx *tx, int64_t job_id, const struct gpu_trace_row *row, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, store_tx_reader(tx),
		"INSERT INTO gpu_traces (job_id, " COLUMNS ") VALUES (?,?,?,?,?,?)"
		" ON CONFLICT (job_id, stream, trace) DO UPDATE SET document = excluded.document,"
		" received_ms = excluded.received_ms, author = excluded.author",
		err));
	bind_i64(&s, job_id);
	row_bind(&s, ROWS(fields, struct gpu_trace_row), row);
	return statement_run(&s, err);
}

enum status store_count_gpu_traces(struct store_reader *reader, int64_t job_id, uint64_t *count, struct error *err)
{
	return read_number(reader, "SELECT count(*) FROM gpu_traces WHERE job_id = ?", NUMBERS(job_id), count, err);
}

enum status store_read_gpu_traces(struct store_reader *reader, struct arena *arena, int64_t job_id,
	const struct gpu_trace_row *after, size_t limit, struct gpu_trace_row **out, size_t *count, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, reader,
		after ? "SELECT " COLUMNS " FROM gpu_traces WHERE job_id = ? AND (stream, trace) > (?,?)"
			" ORDER BY stream, trace LIMIT ?"
		      : "SELECT " COLUMNS " FROM gpu_traces WHERE job_id = ? ORDER BY stream, trace LIMIT ?",
		err));
	bind_i64(&s, job_id);
	if (after) {
		bind_text(&s, after->stream);
		bind_text(&s, after->trace);
	}
	bind_u64(&s, limit);
	return rows_read(&s, arena, ROWS(fields, struct gpu_trace_row), out, count, err);
}

enum status store_delete_gpu_trace(
	struct store_tx *tx, int64_t job_id, struct span stream, struct span trace, size_t *deleted, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(
		&s, store_tx_reader(tx), "DELETE FROM gpu_traces WHERE job_id = ? AND stream = ? AND trace = ?", err));
	bind_i64(&s, job_id);
	bind_text(&s, stream);
	bind_text(&s, trace);
	TRY(statement_run(&s, err));
	return tx_changed_rows(tx, deleted, err);
}
