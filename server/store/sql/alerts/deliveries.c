/* The outbox: rows written with their cause, gone through by the webhook thread. */
#include "store/alerts.h"
#include "store/driver/rows.h"
#include "store/driver/statement.h"

#define DELIVERY_COLUMNS                                                                                               \
	"delivery_id, webhook_id, job_id, incident_id, message_id, state, attempts, created_ms, next_ms, done_ms, "    \
	"last_code, last_error, payload"

/* Nothing pending of the same webhook and incident is older. Messages about no incident (a test) wait for nobody. */
#define IS_FIRST                                                                                                       \
	" AND (d.incident_id = 0 OR NOT EXISTS (SELECT 1 FROM deliveries AS o WHERE o.state = 0"                       \
	" AND o.webhook_id = d.webhook_id AND o.job_id = d.job_id AND o.incident_id = d.incident_id"                   \
	" AND o.delivery_id < d.delivery_id))"

static const struct row_field fields[] = {FIELD(struct delivery_row, delivery_id),
	FIELD(struct delivery_row, webhook_id), FIELD(struct delivery_row, job_id),
	FIELD(struct delivery_row, incident_id), FIELD(struct delivery_row, message_id),
	FIELD(struct delivery_row, state), FIELD(struct delivery_row, attempts), FIELD(struct delivery_row, created_ms),
	FIELD(struct delivery_row, next_ms), FIELD(struct delivery_row, done_ms), FIELD(struct delivery_row, last_code),
	FIELD(struct delivery_row, last_error), FIELD(struct delivery_row, payload)};

static enum status insert(struct store_tx *tx, struct delivery_row *row, struct error *err)
{
	struct delivery_row put = *row;

	TRY(next_id(tx, "delivery", &put.delivery_id, err));
	TRY(row_put(tx, "INSERT INTO deliveries (" DELIVERY_COLUMNS ") VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?)",
		ROWS(fields, struct delivery_row), &put, err));
	row->delivery_id = put.delivery_id;
	return OK;
}

enum status store_put_delivery(struct store_tx *tx, struct delivery_row *row, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	size_t changed;

	if (!row->delivery_id)
		return insert(tx, row, err);
	TRY(statement_open(&s, store_tx_reader(tx),
		"UPDATE deliveries SET state = ?, attempts = ?, next_ms = ?, done_ms = ?, last_code = ?, last_error = ?,"
		" created_ms = ? WHERE delivery_id = ?",
		err));
	bind_numbers(&s, row->state, row->attempts, row->next_ms, row->done_ms, row->last_code);
	bind_text(&s, row->last_error);
	bind_numbers(&s, row->created_ms, row->delivery_id);
	TRY(statement_run(&s, err));
	TRY(tx_changed_rows(tx, &changed, err));
	return changed ? OK
		       : error_set(
				 err, ERR_NOT_FOUND, "there is no delivery %lld any more", (long long)row->delivery_id);
}

enum status store_read_due_deliveries(struct store_reader *reader, struct arena *arena, int64_t webhook_id,
	int64_t now_ms, size_t limit, struct delivery_row **out, size_t *count, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, reader,
		"SELECT " DELIVERY_COLUMNS
		" FROM deliveries AS d WHERE d.state = 0 AND d.webhook_id = ? AND d.next_ms <= ?" IS_FIRST
		" ORDER BY d.next_ms, d.delivery_id LIMIT ?",
		err));
	bind_numbers(&s, webhook_id, now_ms, limit);
	return rows_read(&s, arena, ROWS(fields, struct delivery_row), out, count, err);
}

enum status store_next_delivery_ms(struct store_reader *reader, int64_t webhook_id, int64_t *next_ms, struct error *err)
{
	*next_ms = INT64_MAX;
	/* The same conditions: what waits behind an older one is not due before that is. */
	return read_number(reader,
		"SELECT d.next_ms FROM deliveries AS d WHERE d.state = 0 AND d.webhook_id = ?" IS_FIRST
		" ORDER BY d.next_ms LIMIT 1",
		NUMBERS(webhook_id), next_ms, err);
}

enum status store_oldest_settled_ms(struct store_reader *reader, int64_t *done_ms, struct error *err)
{
	*done_ms = INT64_MAX;
	return read_number(reader, "SELECT done_ms FROM deliveries WHERE state <> 0 ORDER BY done_ms LIMIT 1",
		NUMBERS(), done_ms, err);
}

enum status store_delete_settled(struct store_tx *tx, int64_t before_ms, size_t limit, struct error *err)
{
	return run_with(tx,
		"DELETE FROM deliveries WHERE delivery_id IN (SELECT delivery_id FROM deliveries"
		" WHERE state <> 0 AND done_ms < ? ORDER BY done_ms LIMIT ?)",
		NUMBERS(before_ms, limit), err);
}

enum status store_read_deliveries(struct store_reader *reader, struct arena *arena, int64_t webhook_id, size_t limit,
	struct delivery_row **out, size_t *count, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, reader,
		"SELECT " DELIVERY_COLUMNS " FROM deliveries WHERE webhook_id = ? ORDER BY delivery_id DESC LIMIT ?",
		err));
	bind_numbers(&s, webhook_id, limit);
	return rows_read(&s, arena, ROWS(fields, struct delivery_row), out, count, err);
}

/* Their payload's beginning (pipeline/alert/report_message.c) tells them from the other messages about no incident. */
enum status store_read_report_deliveries(struct store_reader *reader, struct arena *arena, int64_t webhook_id,
	size_t limit, struct delivery_row **out, size_t *count, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, reader,
		"SELECT " DELIVERY_COLUMNS " FROM deliveries WHERE webhook_id = ? AND job_id = 0 AND incident_id = 0"
		" AND payload LIKE '{\"type\":\"fleet.report\"%' ORDER BY delivery_id DESC LIMIT ?",
		err));
	bind_numbers(&s, webhook_id, limit);
	return rows_read(&s, arena, ROWS(fields, struct delivery_row), out, count, err);
}

enum status store_read_told(struct store_reader *reader, struct arena *arena, int64_t job_id, uint32_t incident_id,
	size_t limit, struct delivery_row **out, size_t *count, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, reader,
		"SELECT " DELIVERY_COLUMNS
		" FROM deliveries WHERE job_id = ? AND incident_id = ? ORDER BY delivery_id DESC LIMIT ?",
		err));
	bind_numbers(&s, job_id, incident_id, limit);
	return rows_read(&s, arena, ROWS(fields, struct delivery_row), out, count, err);
}

enum status store_read_job_told(struct store_reader *reader, struct arena *arena, int64_t job_id, size_t limit,
	struct delivery_row **out, size_t *count, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, reader,
		"SELECT " DELIVERY_COLUMNS " FROM deliveries WHERE job_id = ? ORDER BY delivery_id DESC LIMIT ?", err));
	bind_numbers(&s, job_id, limit);
	return rows_read(&s, arena, ROWS(fields, struct delivery_row), out, count, err);
}

enum status store_read_delivery(struct store_reader *reader, struct arena *arena, int64_t webhook_id,
	int64_t delivery_id, struct delivery_row *out, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	bool is_there;

	TRY(statement_open(&s, reader,
		"SELECT " DELIVERY_COLUMNS " FROM deliveries WHERE delivery_id = ? AND webhook_id = ?", err));
	bind_numbers(&s, delivery_id, webhook_id);
	TRY(row_read(&s, arena, ROWS(fields, struct delivery_row), out, &is_there, err));
	return is_there ? OK
			: error_set(err, ERR_NOT_FOUND, "webhook %lld has no delivery %lld", (long long)webhook_id,
				  (long long)delivery_id);
}

enum status store_delete_heartbeats(struct store_tx *tx, int64_t webhook_id, struct error *err)
{
	return run_with(tx,
		"DELETE FROM deliveries WHERE state = 0 AND webhook_id = ? AND job_id = 0 AND incident_id = ?",
		NUMBERS(webhook_id, HEARTBEAT_INCIDENT), err);
}
