/* The outbox: rows written with their cause, gone through by the webhook thread. */
#include "store/alerts.h"
#include "store/driver/statement.h"

#define DELIVERY_COLUMNS                                                                                               \
	"delivery_id, webhook_id, job_id, incident_id, message_id, state, attempts, created_ms, next_ms, done_ms, "    \
	"last_code, last_error, payload"

/* Nothing pending of the same webhook and incident is older. Messages about no incident (a test) wait for nobody. */
#define IS_FIRST                                                                                                       \
	" AND (d.incident_id = 0 OR NOT EXISTS (SELECT 1 FROM deliveries AS o WHERE o.state = 0"                       \
	" AND o.webhook_id = d.webhook_id AND o.job_id = d.job_id AND o.incident_id = d.incident_id"                   \
	" AND o.delivery_id < d.delivery_id))"

static void bind_result(struct statement *s, const struct delivery_row *row)
{
	bind_i64(s, row->state);
	bind_i64(s, row->attempts);
	bind_i64(s, row->next_ms);
	bind_i64(s, row->done_ms);
	bind_i64(s, row->last_code);
	bind_text(s, row->last_error);
}

static enum status insert(struct store_tx *tx, struct delivery_row *row, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	int64_t id;

	TRY(next_id(tx, "delivery", &id, err));
	TRY(statement_open(&s, store_tx_reader(tx),
		"INSERT INTO deliveries (state, attempts, next_ms, done_ms, last_code, last_error, delivery_id, webhook_id,"
		" job_id, incident_id, message_id, created_ms, payload) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?)",
		err));
	bind_result(&s, row);
	bind_i64(&s, id);
	bind_i64(&s, row->webhook_id);
	bind_i64(&s, row->job_id);
	bind_i64(&s, row->incident_id);
	bind_text(&s, row->message_id);
	bind_i64(&s, row->created_ms);
	bind_text(&s, row->payload);
	TRY(statement_run(&s, err));
	row->delivery_id = id;
	return OK;
}

enum status store_put_delivery(struct store_tx *tx, struct delivery_row *row, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	if (!row->delivery_id)
		return insert(tx, row, err);
	TRY(statement_open(&s, store_tx_reader(tx),
		"UPDATE deliveries SET state = ?, attempts = ?, next_ms = ?, done_ms = ?, last_code = ?, last_error = ?,"
		" created_ms = ? WHERE delivery_id = ?",
		err));
	bind_result(&s, row);
	bind_i64(&s, row->created_ms);
	bind_i64(&s, row->delivery_id);
	TRY(statement_run(&s, err));
	return tx_changed_rows(tx) ? OK
				   : error_set(err, ERR_NOT_FOUND, "there is no delivery %lld any more",
					     (long long)row->delivery_id);
}

static enum status read_row(struct statement *s, struct arena *arena, struct delivery_row *row, struct error *err)
{
	row->delivery_id = column_i64(s);
	row->webhook_id = column_i64(s);
	row->job_id = column_i64(s);
	row->incident_id = column_u32(s);
	row->message_id = column_span(s, arena);
	row->state = (enum delivery_state)column_i64(s);
	row->attempts = column_u32(s);
	row->created_ms = column_i64(s);
	row->next_ms = column_i64(s);
	row->done_ms = column_i64(s);
	row->last_code = (int32_t)column_i64(s);
	row->last_error = column_span(s, arena);
	row->payload = column_span(s, arena);
	return statement_check(s, err);
}

static enum status read_all(
	struct statement *s, struct arena *arena, struct delivery_row **out, size_t *count, struct error *err)
{
	struct delivery_row *rows = NULL;
	size_t used = 0, cap = 0;
	bool has_row;

	TRY(statement_step(s, &has_row, err));
	for (; has_row; used++) {
		rows = rows_grow(arena, rows, used, &cap, sizeof *rows);
		if (!rows)
			return error_no_memory(err);
		TRY(read_row(s, arena, &rows[used], err));
		TRY(statement_step(s, &has_row, err));
	}
	*out = rows;
	*count = used;
	return OK;
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
	bind_i64(&s, webhook_id);
	bind_i64(&s, now_ms);
	bind_u64(&s, limit);
	return read_all(&s, arena, out, count, err);
}

enum status store_next_delivery_ms(struct store_reader *reader, int64_t webhook_id, int64_t *next_ms, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	bool has_row;

	/* The same conditions: what waits behind an older one is not due before that is. */
	TRY(statement_open(&s, reader,
		"SELECT d.next_ms FROM deliveries AS d WHERE d.state = 0 AND d.webhook_id = ?" IS_FIRST
		" ORDER BY d.next_ms LIMIT 1",
		err));
	bind_i64(&s, webhook_id);
	TRY(statement_step(&s, &has_row, err));
	*next_ms = has_row ? column_i64(&s) : INT64_MAX;
	return OK;
}

enum status store_oldest_settled_ms(struct store_reader *reader, int64_t *done_ms, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	bool has_row;

	TRY(statement_open(
		&s, reader, "SELECT done_ms FROM deliveries WHERE state <> 0 ORDER BY done_ms LIMIT 1", err));
	TRY(statement_step(&s, &has_row, err));
	*done_ms = has_row ? column_i64(&s) : INT64_MAX;
	return OK;
}

enum status store_delete_settled(struct store_tx *tx, int64_t before_ms, size_t limit, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, store_tx_reader(tx),
		"DELETE FROM deliveries WHERE delivery_id IN (SELECT delivery_id FROM deliveries"
		" WHERE state <> 0 AND done_ms < ? ORDER BY done_ms LIMIT ?)",
		err));
	bind_i64(&s, before_ms);
	bind_u64(&s, limit);
	return statement_run(&s, err);
}

enum status store_read_deliveries(struct store_reader *reader, struct arena *arena, int64_t webhook_id, size_t limit,
	struct delivery_row **out, size_t *count, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, reader,
		"SELECT " DELIVERY_COLUMNS " FROM deliveries WHERE webhook_id = ? ORDER BY delivery_id DESC LIMIT ?",
		err));
	bind_i64(&s, webhook_id);
	bind_u64(&s, limit);
	return read_all(&s, arena, out, count, err);
}

enum status store_read_told(struct store_reader *reader, struct arena *arena, int64_t job_id, uint32_t incident_id,
	size_t limit, struct delivery_row **out, size_t *count, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, reader,
		"SELECT " DELIVERY_COLUMNS
		" FROM deliveries WHERE job_id = ? AND incident_id = ? ORDER BY delivery_id DESC LIMIT ?",
		err));
	bind_i64(&s, job_id);
	bind_i64(&s, incident_id);
	bind_u64(&s, limit);
	return read_all(&s, arena, out, count, err);
}

enum status store_read_job_told(struct store_reader *reader, struct arena *arena, int64_t job_id, size_t limit,
	struct delivery_row **out, size_t *count, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, reader,
		"SELECT " DELIVERY_COLUMNS " FROM deliveries WHERE job_id = ? ORDER BY delivery_id DESC LIMIT ?", err));
	bind_i64(&s, job_id);
	bind_u64(&s, limit);
	return read_all(&s, arena, out, count, err);
}

enum status store_read_delivery(struct store_reader *reader, struct arena *arena, int64_t webhook_id,
	int64_t delivery_id, struct delivery_row *out, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	struct delivery_row *rows;
	size_t count;

	TRY(statement_open(&s, reader,
		"SELECT " DELIVERY_COLUMNS " FROM deliveries WHERE delivery_id = ? AND webhook_id = ?", err));
	bind_i64(&s, delivery_id);
	bind_i64(&s, webhook_id);
	TRY(read_all(&s, arena, &rows, &count, err));
	if (!count)
		return error_set(err, ERR_NOT_FOUND, "webhook %lld has no delivery %lld", (long long)webhook_id,
			(long long)delivery_id);
	*out = rows[0];
	return OK;
}

enum status store_delete_heartbeats(struct store_tx *tx, int64_t webhook_id, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, store_tx_reader(tx),
		"DELETE FROM deliveries WHERE state = 0 AND webhook_id = ? AND job_id = 0 AND incident_id = ?", err));
	bind_i64(&s, webhook_id);
	bind_i64(&s, HEARTBEAT_INCIDENT);
	return statement_run(&s, err);
}
