#include "store/backfills.h"
#include "store/definitions.h"
#include "store/driver/rows.h"
#include "store/driver/statement.h"

enum status store_newest_generation(
	struct store_reader *reader, int64_t job_id, uint32_t *generation, struct error *err)
{
	return read_number(reader, "SELECT coalesce(max(generation), 0) FROM definitions WHERE job_id = ?",
		NUMBERS(job_id), generation, err);
}

enum status store_next_due_definitions(struct store_reader *reader, int64_t *job_id, struct error *err)
{
	*job_id = 0;
	return read_number(
		reader, "SELECT job_id FROM due_definitions ORDER BY job_id LIMIT 1", NUMBERS(), job_id, err);
}

enum status store_forget_due_definitions(struct store_tx *tx, int64_t job_id, struct error *err)
{
	return run_for_job(tx, "DELETE FROM due_definitions WHERE job_id = ?", job_id, err);
}

#define BACKFILL_COLUMNS                                                                                               \
	"job_id, generation, state, started_ms, updated_ms, lines, lines_total, bytes, bytes_total, error"

static const struct row_field fields[] = {FIELD(struct backfill_row, job_id), FIELD(struct backfill_row, generation),
	FIELD(struct backfill_row, state), FIELD(struct backfill_row, started_ms),
	FIELD(struct backfill_row, updated_ms), FIELD(struct backfill_row, lines),
	FIELD(struct backfill_row, lines_total), FIELD(struct backfill_row, bytes),
	FIELD(struct backfill_row, bytes_total), FIELD(struct backfill_row, error)};

enum status store_put_backfill(struct store_tx *tx, const struct backfill_row *row, struct error *err)
{
	return row_put(tx,
		"INSERT INTO backfills (" BACKFILL_COLUMNS ") VALUES (?,?,?,?,?,?,?,?,?,?)"
		" ON CONFLICT (job_id) DO UPDATE SET generation = excluded.generation,"
		" state = excluded.state, started_ms = excluded.started_ms, updated_ms = excluded.updated_ms,"
		" lines = excluded.lines, lines_total = excluded.lines_total, bytes = excluded.bytes,"
		" bytes_total = excluded.bytes_total, error = excluded.error",
		ROWS(fields, struct backfill_row), row, err);
}

enum status store_read_backfill(
	struct store_reader *reader, struct arena *arena, int64_t job_id, struct backfill_row *out, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	bool is_there;

	*out = (struct backfill_row){.error = SPAN("")};
	TRY(statement_open(&s, reader, "SELECT " BACKFILL_COLUMNS " FROM backfills WHERE job_id = ?", err));
	bind_i64(&s, job_id);
	return row_read(&s, arena, ROWS(fields, struct backfill_row), out, &is_there, err);
}

enum status store_next_backfill(
	struct store_reader *reader, struct arena *arena, struct backfill_row *out, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	bool is_there;

	*out = (struct backfill_row){.error = SPAN("")};
	TRY(statement_open(&s, reader,
		"SELECT " BACKFILL_COLUMNS
		" FROM backfills AS b WHERE (state = 0 OR EXISTS (SELECT 1 FROM backfill_streams AS s"
		" WHERE s.job_id = b.job_id)) AND EXISTS (SELECT 1 FROM jobs AS j WHERE j.job_id = b.job_id)"
		" ORDER BY started_ms, job_id LIMIT 1",
		err));
	return row_read(&s, arena, ROWS(fields, struct backfill_row), out, &is_there, err);
}

#define BACKFILL_STREAM_COLUMNS "job_id, stream_id, generation, next_line, is_final, state, incidents"

static const struct row_field stream_fields[] = {FIELD(struct backfill_stream_row, job_id),
	FIELD(struct backfill_stream_row, stream_id), FIELD(struct backfill_stream_row, generation),
	FIELD(struct backfill_stream_row, next_line), FIELD(struct backfill_stream_row, is_final),
	FIELD_BLOB(struct backfill_stream_row, state), FIELD_BLOB(struct backfill_stream_row, incidents)};

enum status store_put_backfill_stream(struct store_tx *tx, const struct backfill_stream_row *row, struct error *err)
{
	return row_put(tx,
		"INSERT INTO backfill_streams (" BACKFILL_STREAM_COLUMNS ") VALUES (?,?,?,?,?,?,?)"
		" ON CONFLICT (job_id, stream_id) DO UPDATE SET generation = excluded.generation,"
		" next_line = excluded.next_line, is_final = excluded.is_final, state = excluded.state,"
		" incidents = excluded.incidents",
		ROWS(stream_fields, struct backfill_stream_row), row, err);
}

enum status store_read_backfill_stream(struct store_reader *reader, struct arena *arena, int64_t job_id,
	uint32_t stream_id, struct backfill_stream_row *out, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	bool is_there;

	*out = (struct backfill_stream_row){.state = SPAN(""), .incidents = SPAN("")};
	TRY(statement_open(&s, reader,
		"SELECT " BACKFILL_STREAM_COLUMNS " FROM backfill_streams WHERE job_id = ? AND stream_id = ?", err));
	bind_numbers(&s, job_id, stream_id);
	return row_read(&s, arena, ROWS(stream_fields, struct backfill_stream_row), out, &is_there, err);
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
	return run_with(tx,
		"INSERT INTO dead_series (job_id, first_id, last_id, not_before_ms) VALUES (?,?,?,?)"
		" ON CONFLICT (job_id, first_id) DO UPDATE SET last_id = excluded.last_id,"
		" not_before_ms = excluded.not_before_ms",
		NUMBERS(dead->job_id, dead->first_id, dead->last_id, dead->not_before_ms), err);
}

enum status store_has_dead_series(struct store_reader *reader, int64_t job_id, bool *has_dead, struct error *err)
{
	*has_dead = false;
	return read_number(
		reader, "SELECT 1 FROM dead_series WHERE job_id = ? LIMIT 1", NUMBERS(job_id), has_dead, err);
}
