/* What was said beside a job's statuses, and when: goodput takes a status apart by it. */
#include "store/driver/rows.h"
#include "store/driver/statement.h"
#include "store/goodput.h"

enum { MESSAGES_MAX = 10000 };

static void bind_message(struct statement *s, int64_t job_id, const struct status_message *row)
{
	bind_i64(s, job_id);
	bind_i64(s, row->at_ms);
	bind_text(s, row->status);
	bind_text(s, row->message);
}

enum status store_put_status_message(
	struct store_tx *tx, int64_t job_id, const struct status_message *row, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	if (!row->message.len)
		return OK;
	TRY(statement_open(&s, store_tx_reader(tx),
		"INSERT INTO status_messages (job_id, at_ms, status, message) SELECT CAST(?1 AS BIGINT), CAST(?2 AS BIGINT), CAST(?3 AS TEXT), CAST(?4 AS TEXT) WHERE NOT EXISTS (SELECT 1"
		" FROM (SELECT status, message FROM status_messages WHERE job_id = ?1 AND at_ms <= ?2 ORDER BY at_ms DESC LIMIT 1) AS newest"
		" WHERE status = ?3 AND message = ?4) ON CONFLICT (job_id, at_ms, status) DO UPDATE SET message = excluded.message",
		err));
	bind_message(&s, job_id, row);
	return statement_run(&s, err);
}

enum status store_keep_status_message(
	struct store_tx *tx, int64_t job_id, const struct status_message *row, bool *is_new, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	size_t changed;

	*is_new = false;
	if (!row->message.len)
		return OK;
	TRY(statement_open(&s, store_tx_reader(tx),
		"INSERT INTO status_messages (job_id, at_ms, status, message) VALUES (?1, ?2, ?3, ?4)"
		" ON CONFLICT (job_id, at_ms, status) DO UPDATE SET message = excluded.message WHERE status_messages.message <> excluded.message",
		err));
	bind_message(&s, job_id, row);
	TRY(statement_run(&s, err));
	TRY(tx_changed_rows(tx, &changed, err));
	*is_new = changed > 0;
	return OK;
}

enum status store_read_status_messages(struct store_reader *reader, struct arena *arena, int64_t job_id,
	struct status_message **out, size_t *count, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	static const struct row_field fields[] = {FIELD(struct status_message, at_ms),
		FIELD(struct status_message, status), FIELD(struct status_message, message)};

	TRY(statement_open(&s, reader,
		"SELECT at_ms, status, message FROM status_messages WHERE job_id = ? ORDER BY at_ms, status LIMIT ?",
		err));
	bind_i64(&s, job_id);
	bind_i64(&s, MESSAGES_MAX);
	return rows_read(&s, arena, ROWS(fields, struct status_message), out, count, err);
}
