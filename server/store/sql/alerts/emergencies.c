#include "store/driver/rows.h"
#include "store/driver/statement.h"
#include "store/faults.h"

static const struct row_field fields[] = {FIELD(struct emergency_row, job_id), FIELD(struct emergency_row, incident_id),
	FIELD(struct emergency_row, asked_ms), FIELD(struct emergency_row, stop_due_ms),
	FIELD(struct emergency_row, checkpoint_step)};

enum status store_put_emergency(struct store_tx *tx, const struct emergency_row *row, struct error *err)
{
	return row_put(tx,
		"INSERT INTO emergencies (job_id, incident_id, asked_ms, stop_due_ms, checkpoint_step) VALUES (?,?,?,?,?)"
		" ON CONFLICT (job_id) DO UPDATE SET incident_id = excluded.incident_id, asked_ms = excluded.asked_ms,"
		" stop_due_ms = excluded.stop_due_ms, checkpoint_step = excluded.checkpoint_step",
		ROWS(fields, struct emergency_row), row, err);
}

#define EMERGENCIES "SELECT job_id, incident_id, asked_ms, stop_due_ms, checkpoint_step FROM emergencies"

enum status store_read_emergency(
	struct store_reader *reader, int64_t job_id, struct emergency_row *out, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	bool is_there;

	*out = (struct emergency_row){0};
	TRY(statement_open(&s, reader, EMERGENCIES " WHERE job_id = ?", err));
	bind_i64(&s, job_id);
	return row_read(&s, NULL, ROWS(fields, struct emergency_row), out, &is_there, err);
}

enum status store_read_emergencies(struct store_reader *reader, struct arena *arena, size_t limit,
	struct emergency_row **out, size_t *count, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, reader, EMERGENCIES " WHERE stop_due_ms > 0 ORDER BY stop_due_ms LIMIT ?", err));
	bind_u64(&s, limit);
	return rows_read(&s, arena, ROWS(fields, struct emergency_row), out, count, err);
}
