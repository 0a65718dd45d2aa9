#include "store/driver/statement.h"
#include "store/faults.h"

enum status store_put_emergency(struct store_tx *tx, const struct emergency_row *row, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, store_tx_reader(tx),
		"INSERT OR REPLACE INTO emergencies (job_id, incident_id, asked_ms, stop_due_ms, checkpoint_step)"
		" VALUES (?,?,?,?,?)",
		err));
	bind_i64(&s, row->job_id);
	bind_i64(&s, row->incident_id);
	bind_i64(&s, row->asked_ms);
	bind_i64(&s, row->stop_due_ms);
	bind_i64(&s, row->checkpoint_step);
	return statement_run(&s, err);
}

#define EMERGENCIES "SELECT job_id, incident_id, asked_ms, stop_due_ms, checkpoint_step FROM emergencies"

static struct emergency_row read_row(struct statement *s)
{
	struct emergency_row row = {.job_id = column_i64(s)};

	row.incident_id = column_u32(s);
	row.asked_ms = column_i64(s);
	row.stop_due_ms = column_i64(s);
	row.checkpoint_step = column_i64(s);
	return row;
}

enum status store_read_emergency(
	struct store_reader *reader, int64_t job_id, struct emergency_row *out, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	bool has_row;

	TRY(statement_open(&s, reader, EMERGENCIES " WHERE job_id = ?", err));
	bind_i64(&s, job_id);
	TRY(statement_step(&s, &has_row, err));
	*out = has_row ? read_row(&s) : (struct emergency_row){0};
	return OK;
}

enum status store_read_emergencies(struct store_reader *reader, struct arena *arena, size_t limit,
	struct emergency_row **out, size_t *count, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	struct emergency_row *rows = NULL;
	size_t used = 0, cap = 0;
	bool has_row;

	TRY(statement_open(&s, reader, EMERGENCIES " WHERE stop_due_ms > 0 ORDER BY stop_due_ms LIMIT ?", err));
	bind_u64(&s, limit);
	TRY(statement_step(&s, &has_row, err));
	for (; has_row; used++) {
		if (!(rows = rows_grow(arena, rows, used, &cap, sizeof *rows)))
			return error_no_memory(err);
		rows[used] = read_row(&s);
		TRY(statement_step(&s, &has_row, err));
	}
	*out = rows;
	*count = used;
	return OK;
}
