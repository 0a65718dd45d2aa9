/* A job's history: its secondary statuses, and the generations of its metric definitions. */
#include "store/goodput.h"
#include "store/sqlite/sqlite_store.h"

struct newest {
	bool is_there;
	bool is_same;
	int64_t position;
};

static enum status read_newest(
	struct store_tx *tx, int64_t job_id, struct span status, struct newest *out, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, tx_on(tx),
		"SELECT position, status = ? FROM transitions WHERE job_id = ? ORDER BY position DESC LIMIT 1", err));
	bind_text(&s, status);
	bind_i64(&s, job_id);
	TRY(statement_step(&s, &out->is_there, err));
	out->position = out->is_there ? column_i64(&s) : 0;
	out->is_same = out->is_there && column_bool(&s);
	return OK;
}

static enum status update_message(
	struct store_tx *tx, int64_t job_id, int64_t position, const struct transition_row *row, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, tx_on(tx),
		"UPDATE transitions SET message = ?, end_ms = ?, source = ? WHERE job_id = ? AND position = ?", err));
	bind_text(&s, row->message);
	bind_i64(&s, row->end_ms);
	bind_i64(&s, row->source);
	bind_i64(&s, job_id);
	bind_i64(&s, position);
	return statement_run(&s, err);
}

/* A sender's clock, or a run that is told afterwards, may be before what stands here: no phase ends before it began. */
static enum status end_at(struct store_tx *tx, int64_t job_id, int64_t position, int64_t ms, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, tx_on(tx),
		"UPDATE transitions SET start_ms = min(start_ms, ?), end_ms = ? WHERE job_id = ? AND position = ? AND end_ms = 0",
		err));
	bind_i64(&s, ms);
	bind_i64(&s, ms);
	bind_i64(&s, job_id);
	bind_i64(&s, position);
	return statement_run(&s, err);
}

static enum status insert(
	struct store_tx *tx, int64_t job_id, int64_t position, const struct transition_row *row, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, tx_on(tx),
		"INSERT INTO transitions (job_id, position, status, message, start_ms, end_ms, source) VALUES (?,?,?,?,?,?,?)",
		err));
	bind_i64(&s, job_id);
	bind_i64(&s, position);
	bind_text(&s, row->status);
	bind_text(&s, row->message);
	bind_i64(&s, row->start_ms);
	bind_i64(&s, row->end_ms);
	bind_i64(&s, row->source);
	return statement_run(&s, err);
}

enum status store_put_transitions(
	struct store_tx *tx, int64_t job_id, const struct transition_row *rows, size_t count, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, tx_on(tx), "DELETE FROM transitions WHERE job_id = ?", err));
	bind_i64(&s, job_id);
	TRY(statement_run(&s, err));
	for (size_t i = 0; i < count; i++)
		TRY(insert(tx, job_id, (int64_t)i, &rows[i], err));
	return OK;
}

enum status store_put_newest_event(struct store_tx *tx, int64_t job_id, int64_t newest_ms, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, tx_on(tx),
		"INSERT INTO job_events (job_id, newest_ms) VALUES (?,?)"
		" ON CONFLICT (job_id) DO UPDATE SET newest_ms = excluded.newest_ms",
		err));
	bind_i64(&s, job_id);
	bind_i64(&s, newest_ms);
	return statement_run(&s, err);
}

enum status store_read_newest_event(struct store_reader *reader, int64_t job_id, int64_t *newest_ms, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	bool has_row;

	TRY(statement_open(&s, reader, "SELECT newest_ms FROM job_events WHERE job_id = ?", err));
	bind_i64(&s, job_id);
	TRY(statement_step(&s, &has_row, err));
	*newest_ms = has_row ? column_i64(&s) : 0;
	return OK;
}

enum status store_add_transition(
	struct store_tx *tx, int64_t job_id, const struct transition_row *row, struct error *err)
{
	struct newest newest;

	TRY(store_put_status_message(
		tx, job_id, &(struct status_message){row->start_ms, row->status, row->message}, err));
	TRY(read_newest(tx, job_id, row->status, &newest, err));
	if (newest.is_same)
		return update_message(tx, job_id, newest.position, row, err);
	if (newest.is_there)
		TRY(end_at(tx, job_id, newest.position, row->start_ms, err));
	return insert(tx, job_id, newest.is_there ? newest.position + 1 : 0, row, err);
}

enum status store_read_transitions(struct store_reader *reader, struct arena *arena, int64_t job_id,
	struct transition_row **out, size_t *count, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	struct transition_row *rows = NULL;
	size_t used = 0, cap = 0;
	bool has_row;

	TRY(statement_open(&s, reader,
		"SELECT status, message, start_ms, end_ms, source FROM transitions WHERE job_id = ? ORDER BY position",
		err));
	bind_i64(&s, job_id);
	TRY(statement_step(&s, &has_row, err));
	for (; has_row; used++) {
		rows = rows_grow(arena, rows, used, &cap, sizeof *rows);
		if (!rows)
			return error_set(err, ERR_MEMORY, "out of memory");
		rows[used].status = column_span(&s, arena);
		rows[used].message = column_span(&s, arena);
		rows[used].start_ms = column_i64(&s);
		rows[used].end_ms = column_i64(&s);
		rows[used].source = (enum transition_source)column_u32(&s);
		TRY(statement_check(&s, err));
		TRY(statement_step(&s, &has_row, err));
	}
	*out = rows;
	*count = used;
	return OK;
}

enum status store_read_idle(struct store_reader *reader, int64_t job_id, int64_t from_ms, int64_t to_ms,
	int64_t *idle_ms, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	bool has_row;

	TRY(statement_open(&s, reader,
		"SELECT coalesce(sum(min(end_ms, ?3) - start_ms), 0) FROM transitions WHERE job_id = ?1 AND start_ms BETWEEN ?2 AND ?3"
		" AND end_ms > start_ms AND status IN ('Interrupted', 'Starting', 'Pending', 'LaunchingMLInstances',"
		" 'PreparingTrainingStack')",
		err));
	bind_i64(&s, job_id);
	bind_i64(&s, from_ms);
	bind_i64(&s, to_ms);
	TRY(statement_step(&s, &has_row, err));
	*idle_ms = column_i64(&s);
	return OK;
}

enum status store_put_definitions(
	struct store_tx *tx, int64_t job_id, uint32_t generation, struct span json, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, tx_on(tx),
		"INSERT INTO definitions (job_id, generation, json) VALUES (?,?,?)"
		" ON CONFLICT (job_id, generation) DO UPDATE SET json = excluded.json",
		err));
	bind_i64(&s, job_id);
	bind_i64(&s, generation);
	bind_text(&s, json);
	return statement_run(&s, err);
}

enum status store_read_definitions(struct store_reader *reader, struct arena *arena, int64_t job_id,
	uint32_t generation, struct span *json, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	bool has_row;

	TRY(statement_open(&s, reader, "SELECT json FROM definitions WHERE job_id = ? AND generation = ?", err));
	bind_i64(&s, job_id);
	bind_i64(&s, generation);
	TRY(statement_step(&s, &has_row, err));
	struct span text = has_row ? column_span(&s, arena) : SPAN("");
	TRY(statement_check(&s, err));
	*json = text;
	return OK;
}
