#include "store/blocks.h"
#include "store/driver/rows.h"
#include "store/driver/statement.h"
#include "store/sql/logs/log_filters.h"

enum status store_put_block(struct store_tx *tx, const struct block_row *row, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, store_tx_reader(tx),
		"INSERT INTO blocks (job_id, stream_id, first_line, line_count, first_ms, last_ms, raw_bytes, data)"
		" VALUES (?,?,?,?,?,?,?,?) ON CONFLICT (job_id, stream_id, first_line) DO UPDATE SET"
		" line_count = excluded.line_count, first_ms = excluded.first_ms, last_ms = excluded.last_ms,"
		" raw_bytes = excluded.raw_bytes, data = excluded.data",
		err));
	bind_i64(&s, row->job_id);
	bind_i64(&s, row->stream_id);
	bind_u64(&s, row->first_line);
	bind_u64(&s, row->line_count);
	bind_i64(&s, row->first_ms);
	bind_i64(&s, row->last_ms);
	bind_u64(&s, row->raw_bytes);
	bind_blob(&s, row->data);
	TRY(statement_run(&s, err));
	return log_filter_put(tx, row, err);
}

static const struct row_field head_fields[] = {
	FIELD(struct block_row, first_line), FIELD(struct block_row, line_count), FIELD(struct block_row, raw_bytes)};

#define BLOCKS                                                                                                         \
	"SELECT job_id, stream_id, first_line, line_count, first_ms, last_ms, raw_bytes, data FROM blocks"             \
	" WHERE job_id = ? AND stream_id = ?"

/* at_least: a block that ends before this line is not read; row->line_count is then 0. */
static enum status read_row(
	struct statement *s, struct arena *arena, uint64_t at_least, struct block_row *out, struct error *err)
{
	struct block_row row = {.data = SPAN("")};
	bool has_row;

	TRY(statement_step(s, &has_row, err));
	if (has_row) {
		row.job_id = column_i64(s);
		row.stream_id = column_u32(s);
		row.first_line = column_u64(s);
		row.line_count = column_u64(s);
		row.first_ms = column_i64(s);
		row.last_ms = column_i64(s);
		row.raw_bytes = column_u64(s);
		if (row.first_line + row.line_count > at_least)
			row.data = column_span(s, arena);
		else
			row = (struct block_row){.data = SPAN("")};
	}
	TRY(statement_check(s, err));
	*out = row;
	return OK;
}

/* Lines are numbered far below this, and SQLite's integers end here. */
static uint64_t clamp(uint64_t number)
{
	return number < INT64_MAX ? number : INT64_MAX;
}

static enum status read_before(struct store_reader *reader, struct arena *arena, int64_t job_id, uint32_t stream_id,
	uint64_t line, uint64_t at_least, struct block_row *out, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, reader, BLOCKS " AND first_line <= ? ORDER BY first_line DESC LIMIT 1", err));
	bind_i64(&s, job_id);
	bind_i64(&s, stream_id);
	bind_u64(&s, clamp(line));
	return read_row(&s, arena, at_least, out, err);
}

enum status store_read_block(struct store_reader *reader, struct arena *arena, int64_t job_id, uint32_t stream_id,
	uint64_t line, struct block_row *out, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	struct block_row row;

	TRY(read_before(reader, arena, job_id, stream_id, line, line, &row, err));
	if (!row.line_count) {
		TRY(statement_open(&s, reader, BLOCKS " AND first_line > ? ORDER BY first_line LIMIT 1", err));
		bind_i64(&s, job_id);
		bind_i64(&s, stream_id);
		bind_u64(&s, clamp(line));
		TRY(read_row(&s, arena, 0, &row, err));
	}
	*out = row;
	return OK;
}

enum status store_read_last_block(struct store_reader *reader, struct arena *arena, int64_t job_id, uint32_t stream_id,
	struct block_row *out, struct error *err)
{
	return read_before(reader, arena, job_id, stream_id, UINT64_MAX, 0, out, err);
}

enum status store_read_last_block_head(
	struct store_reader *reader, int64_t job_id, uint32_t stream_id, struct block_row *out, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	bool is_there;

	*out = (struct block_row){.data = SPAN("")};
	TRY(statement_open(&s, reader,
		"SELECT first_line, line_count, raw_bytes FROM blocks WHERE job_id = ? AND stream_id = ?"
		" ORDER BY first_line DESC LIMIT 1",
		err));
	bind_numbers(&s, job_id, stream_id);
	return row_read(&s, NULL, ROWS(head_fields, struct block_row), out, &is_there, err);
}
