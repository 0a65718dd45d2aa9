#include "store/driver/statement.h"
#include "store/points.h"

enum status store_put_chunk(struct store_tx *tx, const struct chunk_row *row, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, store_tx_reader(tx),
		"INSERT INTO chunks (job_id, series_id, first_ordinal, point_count, first_step, last_step, first_ms, last_ms,"
		" data) VALUES (?,?,?,?,?,?,?,?,?) ON CONFLICT (job_id, series_id, first_ordinal) DO UPDATE SET"
		" point_count = excluded.point_count, first_step = excluded.first_step, last_step = excluded.last_step,"
		" first_ms = excluded.first_ms, last_ms = excluded.last_ms, data = excluded.data",
		err));
	bind_i64(&s, row->job_id);
	bind_i64(&s, row->series_id);
	bind_u64(&s, row->first_ordinal);
	bind_u64(&s, row->point_count);
	bind_i64(&s, row->first_step);
	bind_i64(&s, row->last_step);
	bind_i64(&s, row->first_ms);
	bind_i64(&s, row->last_ms);
	bind_blob(&s, row->data);
	return statement_run(&s, err);
}

#define CHUNKS                                                                                                         \
	"SELECT job_id, series_id, first_ordinal, point_count, first_step, last_step, first_ms, last_ms, data"         \
	" FROM chunks WHERE job_id = ? AND series_id = ?"

/* at_least: a chunk that ends before this point is not read; row->point_count is then 0. */
static enum status read_row(
	struct statement *s, struct arena *arena, uint64_t at_least, struct chunk_row *out, struct error *err)
{
	struct chunk_row row = {.data = SPAN("")};
	bool has_row;

	TRY(statement_step(s, &has_row, err));
	if (has_row) {
		row.job_id = column_i64(s);
		row.series_id = column_u32(s);
		row.first_ordinal = column_u64(s);
		row.point_count = column_u64(s);
		row.first_step = column_i64(s);
		row.last_step = column_i64(s);
		row.first_ms = column_i64(s);
		row.last_ms = column_i64(s);
		if (row.first_ordinal + row.point_count > at_least)
			row.data = column_span(s, arena);
		else
			row = (struct chunk_row){.data = SPAN("")};
	}
	TRY(statement_check(s, err));
	*out = row;
	return OK;
}

static uint64_t clamp(uint64_t number)
{
	return number < INT64_MAX ? number : INT64_MAX;
}

static enum status read_before(struct store_reader *reader, struct arena *arena, int64_t job_id, uint32_t series_id,
	uint64_t ordinal, uint64_t at_least, struct chunk_row *out, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, reader, CHUNKS " AND first_ordinal <= ? ORDER BY first_ordinal DESC LIMIT 1", err));
	bind_i64(&s, job_id);
	bind_i64(&s, series_id);
	bind_u64(&s, clamp(ordinal));
	return read_row(&s, arena, at_least, out, err);
}

enum status store_read_chunk(struct store_reader *reader, struct arena *arena, int64_t job_id, uint32_t series_id,
	uint64_t ordinal, struct chunk_row *out, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	struct chunk_row row;

	TRY(read_before(reader, arena, job_id, series_id, ordinal, ordinal, &row, err));
	if (!row.point_count) {
		TRY(statement_open(&s, reader, CHUNKS " AND first_ordinal > ? ORDER BY first_ordinal LIMIT 1", err));
		bind_i64(&s, job_id);
		bind_i64(&s, series_id);
		bind_u64(&s, clamp(ordinal));
		TRY(read_row(&s, arena, 0, &row, err));
	}
	*out = row;
	return OK;
}

enum status store_read_chunk_between(struct store_reader *reader, struct arena *arena, const struct chunk_row *asked,
	struct chunk_row *out, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, reader,
		CHUNKS
		" AND first_ordinal >= ? AND last_step >= ? AND first_step <= ? AND last_ms >= ? AND first_ms <= ?"
		" ORDER BY first_ordinal LIMIT 1",
		err));
	bind_i64(&s, asked->job_id);
	bind_i64(&s, asked->series_id);
	bind_u64(&s, clamp(asked->first_ordinal));
	bind_i64(&s, asked->first_step);
	bind_i64(&s, asked->last_step);
	bind_i64(&s, asked->first_ms);
	bind_i64(&s, asked->last_ms);
	return read_row(&s, arena, 0, out, err);
}

enum status store_read_last_chunk(struct store_reader *reader, struct arena *arena, int64_t job_id, uint32_t series_id,
	struct chunk_row *out, struct error *err)
{
	return read_before(reader, arena, job_id, series_id, UINT64_MAX, 0, out, err);
}
