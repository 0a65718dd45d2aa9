#include "store/backfills.h"
#include "store/definitions.h"
#include "store/driver/statement.h"

enum status store_newest_generation(
	struct store_reader *reader, int64_t job_id, uint32_t *generation, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	bool has_row;

	TRY(statement_open(&s, reader, "SELECT coalesce(max(generation), 0) FROM definitions WHERE job_id = ?", err));
	bind_i64(&s, job_id);
	TRY(statement_step(&s, &has_row, err));
	*generation = column_u32(&s);
	return OK;
}

enum status store_next_due_definitions(struct store_reader *reader, int64_t *job_id, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	bool has_row;

	TRY(statement_open(&s, reader, "SELECT job_id FROM due_definitions ORDER BY job_id LIMIT 1", err));
	TRY(statement_step(&s, &has_row, err));
	*job_id = has_row ? column_i64(&s) : 0;
	return OK;
}

enum status store_forget_due_definitions(struct store_tx *tx, int64_t job_id, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, store_tx_reader(tx), "DELETE FROM due_definitions WHERE job_id = ?", err));
	bind_i64(&s, job_id);
	return statement_run(&s, err);
}

enum status store_put_backfill(struct store_tx *tx, const struct backfill_row *row, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, store_tx_reader(tx),
		"INSERT INTO backfills (generation, state, started_ms, updated_ms, lines, lines_total, bytes, bytes_total, error,"
		" job_id) VALUES (?,?,?,?,?,?,?,?,?,?) ON CONFLICT (job_id) DO UPDATE SET generation = excluded.generation,"
		" state = excluded.state, started_ms = excluded.started_ms, updated_ms = excluded.updated_ms,"
		" lines = excluded.lines, lines_total = excluded.lines_total, bytes = excluded.bytes,"
		" bytes_total = excluded.bytes_total, error = excluded.error",
		err));
	bind_i64(&s, row->generation);
	bind_i64(&s, row->state);
	bind_i64(&s, row->started_ms);
	bind_i64(&s, row->updated_ms);
	bind_u64(&s, row->lines);
	bind_u64(&s, row->lines_total);
	bind_u64(&s, row->bytes);
	bind_u64(&s, row->bytes_total);
	bind_text(&s, row->error);
	bind_i64(&s, row->job_id);
	return statement_run(&s, err);
}

static enum status read_row(struct statement *s, struct arena *arena, struct backfill_row *out, struct error *err)
{
	struct backfill_row row = {.error = SPAN("")};
	bool has_row;

	TRY(statement_step(s, &has_row, err));
	if (has_row) {
		row.job_id = column_i64(s);
		row.generation = column_u32(s);
		row.state = (enum backfill_state)column_i64(s);
		row.started_ms = column_i64(s);
		row.updated_ms = column_i64(s);
		row.lines = column_u64(s);
		row.lines_total = column_u64(s);
		row.bytes = column_u64(s);
		row.bytes_total = column_u64(s);
		row.error = column_span(s, arena);
		TRY(statement_check(s, err));
	}
	*out = row;
	return OK;
}

#define BACKFILLS                                                                                                      \
	"SELECT job_id, generation, state, started_ms, updated_ms, lines, lines_total, bytes, bytes_total, error"      \
	" FROM backfills"

enum status store_read_backfill(
	struct store_reader *reader, struct arena *arena, int64_t job_id, struct backfill_row *out, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, reader, BACKFILLS " WHERE job_id = ?", err));
	bind_i64(&s, job_id);
	return read_row(&s, arena, out, err);
}

enum status store_next_backfill(
	struct store_reader *reader, struct arena *arena, struct backfill_row *out, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, reader,
		BACKFILLS " AS b WHERE state = 0 OR EXISTS (SELECT 1 FROM backfill_streams AS s"
			  " WHERE s.job_id = b.job_id) ORDER BY started_ms, job_id LIMIT 1",
		err));
	return read_row(&s, arena, out, err);
}

enum status store_put_backfill_stream(struct store_tx *tx, const struct backfill_stream_row *row, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, store_tx_reader(tx),
		"INSERT INTO backfill_streams (generation, next_line, is_final, state, incidents, job_id, stream_id)"
		" VALUES (?,?,?,?,?,?,?)"
		" ON CONFLICT (job_id, stream_id) DO UPDATE SET generation = excluded.generation, next_line = excluded.next_line, is_final = excluded.is_final,"
		" state = excluded.state, incidents = excluded.incidents",
		err));
	bind_i64(&s, row->generation);
	bind_u64(&s, row->next_line);
	bind_i64(&s, row->is_final);
	bind_blob(&s, row->state);
	bind_blob(&s, row->incidents);
	bind_i64(&s, row->job_id);
	bind_i64(&s, row->stream_id);
	return statement_run(&s, err);
}

enum status store_read_backfill_stream(struct store_reader *reader, struct arena *arena, int64_t job_id,
	uint32_t stream_id, struct backfill_stream_row *out, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	struct backfill_stream_row row = {.state = SPAN(""), .incidents = SPAN("")};
	bool has_row;

	TRY(statement_open(&s, reader,
		"SELECT job_id, stream_id, generation, next_line, is_final, state, incidents FROM backfill_streams"
		" WHERE job_id = ? AND stream_id = ?",
		err));
	bind_i64(&s, job_id);
	bind_i64(&s, stream_id);
	TRY(statement_step(&s, &has_row, err));
	if (has_row) {
		row.job_id = column_i64(&s);
		row.stream_id = column_u32(&s);
		row.generation = column_u32(&s);
		row.next_line = column_u64(&s);
		row.is_final = column_bool(&s);
		row.state = column_span(&s, arena);
		row.incidents = column_span(&s, arena);
		TRY(statement_check(&s, err));
	}
	*out = row;
	return OK;
}

enum status store_adopt_backfill(struct store_tx *tx, int64_t job_id, struct error *err)
{
	TRY(run_for_job(tx,
		"UPDATE streams SET state = b.state FROM backfill_streams AS b WHERE streams.job_id = ? AND"
		" b.job_id = streams.job_id AND b.stream_id = streams.stream_id",
		job_id, err));
	return store_forget_backfill(tx, job_id, err);
}

enum status store_forget_backfill(struct store_tx *tx, int64_t job_id, struct error *err)
{
	return run_for_job(tx, "DELETE FROM backfill_streams WHERE job_id = ?", job_id, err);
}

enum status store_bury_series(struct store_tx *tx, const struct dead_series *dead, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, store_tx_reader(tx),
		"INSERT INTO dead_series (job_id, first_id, last_id, not_before_ms) VALUES (?,?,?,?)"
		" ON CONFLICT (job_id, first_id) DO UPDATE SET last_id = excluded.last_id,"
		" not_before_ms = excluded.not_before_ms",
		err));
	bind_i64(&s, dead->job_id);
	bind_i64(&s, dead->first_id);
	bind_i64(&s, dead->last_id);
	bind_i64(&s, dead->not_before_ms);
	return statement_run(&s, err);
}

enum status store_has_dead_series(struct store_reader *reader, int64_t job_id, bool *has_dead, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, reader, "SELECT 1 FROM dead_series WHERE job_id = ? LIMIT 1", err));
	bind_i64(&s, job_id);
	return statement_step(&s, has_dead, err);
}
