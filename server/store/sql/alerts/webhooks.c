#include "model/incident.h"
#include "store/alerts.h"
#include "store/driver/statement.h"

#define WEBHOOK_COLUMNS                                                                                                \
	"webhook_id, url, format, sealed_secret, minimum_severity, is_enabled, team, created_ms,"                      \
	" events, heartbeat_ms, beat_ms, per_minute"

enum status store_put_webhook(struct store_tx *tx, struct webhook_row *row, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	int64_t id = row->webhook_id;

	if (!id)
		TRY(next_id(tx, "webhook", &id, err));
	TRY(statement_open(&s, store_tx_reader(tx),
		row->webhook_id
			? "UPDATE webhooks SET url = ?, format = ?, sealed_secret = ?, minimum_severity = ?, is_enabled = ?,"
			  " team = ?, created_ms = ?, events = ?, heartbeat_ms = ?, beat_ms = ?, per_minute = ?"
			  " WHERE webhook_id = ?"
			: "INSERT INTO webhooks (url, format, sealed_secret, minimum_severity, is_enabled, team, created_ms,"
			  " events, heartbeat_ms, beat_ms, per_minute, webhook_id) VALUES (?,?,?,?,?,?,?,?,?,?,?,?)",
		err));
	bind_text(&s, row->url);
	bind_text(&s, row->format);
	bind_blob(&s, row->sealed_secret);
	bind_i64(&s, row->minimum_severity);
	bind_i64(&s, row->is_enabled);
	bind_text(&s, row->team);
	bind_i64(&s, row->created_ms);
	bind_text(&s, row->events);
	bind_i64(&s, row->heartbeat_ms);
	bind_i64(&s, row->beat_ms);
	bind_i64(&s, row->per_minute);
	bind_i64(&s, id);
	TRY(statement_run(&s, err));
	if (tx_changed_rows(tx) == 0)
		return error_set(err, ERR_NOT_FOUND, "there is no webhook %lld", (long long)id);
	row->webhook_id = id;
	return OK;
}

static enum status read_row(struct statement *s, struct arena *arena, struct webhook_row *row, struct error *err)
{
	row->webhook_id = column_i64(s);
	row->url = column_span(s, arena);
	row->format = column_span(s, arena);
	row->sealed_secret = column_span(s, arena);
	row->minimum_severity = (enum severity)column_i64(s);
	row->is_enabled = column_bool(s);
	row->team = column_span(s, arena);
	row->created_ms = column_i64(s);
	row->events = column_span(s, arena);
	row->heartbeat_ms = column_i64(s);
	row->beat_ms = column_i64(s);
	row->per_minute = column_i64(s);
	return statement_check(s, err);
}

enum status store_read_webhooks(
	struct store_reader *reader, struct arena *arena, struct webhook_row **out, size_t *count, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	struct webhook_row *rows = NULL;
	size_t used = 0, cap = 0;
	bool has_row;

	TRY(statement_open(&s, reader, "SELECT " WEBHOOK_COLUMNS " FROM webhooks ORDER BY webhook_id", err));
	TRY(statement_step(&s, &has_row, err));
	for (; has_row; used++) {
		rows = rows_grow(arena, rows, used, &cap, sizeof *rows);
		if (!rows)
			return error_no_memory(err);
		TRY(read_row(&s, arena, &rows[used], err));
		TRY(statement_step(&s, &has_row, err));
	}
	*out = rows;
	*count = used;
	return OK;
}

enum status store_read_webhook(struct store_reader *reader, struct arena *arena, int64_t webhook_id,
	struct webhook_row *out, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	struct webhook_row row;
	bool has_row;

	TRY(statement_open(&s, reader, "SELECT " WEBHOOK_COLUMNS " FROM webhooks WHERE webhook_id = ?", err));
	bind_i64(&s, webhook_id);
	TRY(statement_step(&s, &has_row, err));
	if (!has_row)
		return error_set(err, ERR_NOT_FOUND, "there is no webhook %lld", (long long)webhook_id);
	TRY(read_row(&s, arena, &row, err));
	*out = row;
	return OK;
}

static enum status delete_of(struct store_tx *tx, const char *sql, int64_t webhook_id, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, store_tx_reader(tx), sql, err));
	bind_i64(&s, webhook_id);
	return statement_run(&s, err);
}

enum status store_delete_webhook(struct store_tx *tx, int64_t webhook_id, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(delete_of(tx, "DELETE FROM deliveries WHERE webhook_id = ?", webhook_id, err));
	TRY(delete_of(tx, "DELETE FROM notices WHERE webhook_id = ?", webhook_id, err));
	TRY(statement_open(&s, store_tx_reader(tx), "DELETE FROM webhooks WHERE webhook_id = ?", err));
	bind_i64(&s, webhook_id);
	TRY(statement_run(&s, err));
	return tx_changed_rows(tx) ? OK
				   : error_set(err, ERR_NOT_FOUND, "there is no webhook %lld", (long long)webhook_id);
}
