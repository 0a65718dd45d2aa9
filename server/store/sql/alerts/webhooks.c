#include "model/incident.h"
#include "store/alerts.h"
#include "store/driver/rows.h"
#include "store/driver/statement.h"

#define WEBHOOK_COLUMNS                                                                                                \
	"webhook_id, url, format, sealed_secret, minimum_severity, is_enabled, team, created_ms,"                      \
	" events, heartbeat_ms, beat_ms, per_minute, report_at, report_tz, report_due_ms"

static const struct row_field fields[] = {FIELD(struct webhook_row, webhook_id), FIELD(struct webhook_row, url),
	FIELD(struct webhook_row, format), FIELD_BLOB(struct webhook_row, sealed_secret),
	FIELD(struct webhook_row, minimum_severity), FIELD(struct webhook_row, is_enabled),
	FIELD(struct webhook_row, team), FIELD(struct webhook_row, created_ms), FIELD(struct webhook_row, events),
	FIELD(struct webhook_row, heartbeat_ms), FIELD(struct webhook_row, beat_ms),
	FIELD(struct webhook_row, per_minute), FIELD(struct webhook_row, report_at),
	FIELD(struct webhook_row, report_tz), FIELD(struct webhook_row, report_due_ms)};

enum status store_put_webhook(struct store_tx *tx, struct webhook_row *row, struct error *err)
{
	struct webhook_row put = *row;
	size_t changed;

	if (!put.webhook_id)
		TRY(next_id(tx, "webhook", &put.webhook_id, err));
	TRY(row_put(tx,
		row->webhook_id
			? "UPDATE webhooks SET url = ?2, format = ?3, sealed_secret = ?4, minimum_severity = ?5, is_enabled = ?6,"
			  " team = ?7, created_ms = ?8, events = ?9, heartbeat_ms = ?10, beat_ms = ?11, per_minute = ?12,"
			  " report_at = ?13, report_tz = ?14, report_due_ms = ?15 WHERE webhook_id = ?1"
			: "INSERT INTO webhooks (" WEBHOOK_COLUMNS ") VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
		ROWS(fields, struct webhook_row), &put, err));
	TRY(tx_changed_rows(tx, &changed, err));
	if (!changed)
		return error_set(err, ERR_NOT_FOUND, "there is no webhook %lld", (long long)put.webhook_id);
	row->webhook_id = put.webhook_id;
	return OK;
}

enum status store_read_webhooks(
	struct store_reader *reader, struct arena *arena, struct webhook_row **out, size_t *count, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, reader, "SELECT " WEBHOOK_COLUMNS " FROM webhooks ORDER BY webhook_id", err));
	return rows_read(&s, arena, ROWS(fields, struct webhook_row), out, count, err);
}

enum status store_read_webhook(struct store_reader *reader, struct arena *arena, int64_t webhook_id,
	struct webhook_row *out, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	bool is_there;

	TRY(statement_open(&s, reader, "SELECT " WEBHOOK_COLUMNS " FROM webhooks WHERE webhook_id = ?", err));
	bind_i64(&s, webhook_id);
	TRY(row_read(&s, arena, ROWS(fields, struct webhook_row), out, &is_there, err));
	return is_there ? OK : error_set(err, ERR_NOT_FOUND, "there is no webhook %lld", (long long)webhook_id);
}

enum status store_delete_webhook(struct store_tx *tx, int64_t webhook_id, struct error *err)
{
	size_t changed;

	TRY(run_with(tx, "DELETE FROM deliveries WHERE webhook_id = ?", NUMBERS(webhook_id), err));
	TRY(run_with(tx, "DELETE FROM notices WHERE webhook_id = ?", NUMBERS(webhook_id), err));
	TRY(run_with(tx, "DELETE FROM webhooks WHERE webhook_id = ?", NUMBERS(webhook_id), err));
	TRY(tx_changed_rows(tx, &changed, err));
	return changed ? OK : error_set(err, ERR_NOT_FOUND, "there is no webhook %lld", (long long)webhook_id);
}
