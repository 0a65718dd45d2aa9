#include "store/notes.h"
#include "store/driver/rows.h"
#include "store/driver/statement.h"

#define COLUMNS                                                                                                           \
	"job_id, note_id, place, step, has_step, ts_ms, stream, line, text, author, created_ms, modified_ms, deleted_ms," \
	" idempotency_key"

const char *const note_places[NOTE_PLACE_COUNT] = {"step", "time", "line", "checkpoint"};

static const struct row_field fields[] = {FIELD(struct note_row, job_id), FIELD(struct note_row, note_id),
	FIELD(struct note_row, place), FIELD(struct note_row, step), FIELD(struct note_row, has_step),
	FIELD(struct note_row, ts_ms), FIELD(struct note_row, stream), FIELD(struct note_row, line),
	FIELD(struct note_row, text), FIELD(struct note_row, author), FIELD(struct note_row, created_ms),
	FIELD(struct note_row, modified_ms), FIELD(struct note_row, deleted_ms), FIELD(struct note_row, key)};

static enum status check_room(struct store_tx *tx, int64_t job_id, uint64_t most, struct error *err)
{
	uint64_t count = 0;

	TRY(read_number(
		store_tx_reader(tx), "SELECT count(*) FROM notes WHERE job_id = ?", NUMBERS(job_id), &count, err));
	if (count < most)
		return OK;
	return error_set(err, ERR_TOO_LARGE,
		"the job has %llu notes already (--max-notes); delete one that nobody needs: it counts for another hour",
		(unsigned long long)count);
}

static enum status put_row(struct store_tx *tx, const struct note_row *row, struct error *err)
{
	return row_put(tx,
		"INSERT INTO notes (" COLUMNS ") VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?)"
		" ON CONFLICT (job_id, note_id) DO UPDATE SET text = excluded.text, modified_ms = excluded.modified_ms,"
		" deleted_ms = excluded.deleted_ms",
		ROWS(fields, struct note_row), row, err);
}

enum status store_put_note(struct store_tx *tx, struct note_row *row, uint64_t most, int64_t now_ms, struct error *err)
{
	struct note_row put = *row;

	TRY(run_with(tx, "DELETE FROM notes WHERE job_id = ? AND deleted_ms > 0 AND deleted_ms <= ? AND note_id <> ?",
		NUMBERS(row->job_id, now_ms - NOTE_UNDO_MS, row->note_id), err));
	if (!put.note_id) {
		TRY(check_room(tx, row->job_id, most, err));
		TRY(next_id(tx, "note", &put.note_id, err));
	}
	TRY(put_row(tx, &put, err));
	row->note_id = put.note_id;
	return OK;
}

enum status store_import_note(struct store_tx *tx, struct note_row *row, struct error *err)
{
	TRY(next_id(tx, "note", &row->note_id, err));
	return put_row(tx, row, err);
}

enum status store_find_note(struct store_reader *reader, struct arena *arena, int64_t job_id, struct span key,
	struct note_row *out, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	bool is_there;

	*out = (struct note_row){0};
	TRY(statement_open(&s, reader,
		"SELECT " COLUMNS
		" FROM notes WHERE job_id = ? AND idempotency_key = ? AND idempotency_key <> '' ORDER BY note_id LIMIT 1",
		err));
	bind_i64(&s, job_id);
	bind_text(&s, key);
	return row_read(&s, arena, ROWS(fields, struct note_row), out, &is_there, err);
}

enum status store_read_note(struct store_reader *reader, struct arena *arena, int64_t job_id, int64_t note_id,
	int64_t now_ms, struct note_row *out, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	bool is_there;

	*out = (struct note_row){0};
	TRY(statement_open(&s, reader, "SELECT " COLUMNS " FROM notes WHERE job_id = ? AND note_id = ?", err));
	bind_numbers(&s, job_id, note_id);
	TRY(row_read(&s, arena, ROWS(fields, struct note_row), out, &is_there, err));
	if (is_there && (!out->deleted_ms || out->deleted_ms > now_ms - NOTE_UNDO_MS))
		return OK;
	return error_set(err, ERR_NOT_FOUND, "the job has no note %lld, or it was deleted more than an hour ago",
		(long long)note_id);
}

enum status store_read_notes(struct store_reader *reader, struct arena *arena, int64_t job_id, int64_t after,
	int64_t deleted_after_ms, size_t limit, struct note_row **out, size_t *count, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, reader,
		"SELECT " COLUMNS " FROM notes WHERE job_id = ? AND note_id > ? AND (deleted_ms = 0 OR deleted_ms > ?)"
		" ORDER BY note_id LIMIT ?",
		err));
	bind_numbers(&s, job_id, after, deleted_after_ms, limit);
	return rows_read(&s, arena, ROWS(fields, struct note_row), out, count, err);
}
