/* What webhooks were told of groups of incidents: rows written with the deliveries themselves. */
#include "model/incident.h"
#include "store/alerts.h"
#include "store/driver/statement.h"

#define NOTICE_COLUMNS                                                                                                 \
	"webhook_id, job_id, group_id, harm, incident_id, rule_id, state, severity, due_ms, told_ms, is_standing"

enum status store_put_notice(struct store_tx *tx, const struct notice_row *row, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, store_tx_reader(tx),
		"INSERT OR REPLACE INTO notices (" NOTICE_COLUMNS ") VALUES (?,?,?,?,?,?,?,?,?,?,?)", err));
	bind_i64(&s, row->webhook_id);
	bind_i64(&s, row->job_id);
	bind_i64(&s, row->group_id);
	bind_i64(&s, row->harm);
	bind_i64(&s, row->incident_id);
	bind_i64(&s, row->rule_id);
	bind_i64(&s, row->state);
	bind_i64(&s, row->severity);
	bind_i64(&s, row->due_ms);
	bind_i64(&s, row->told_ms);
	bind_i64(&s, row->is_standing);
	return statement_run(&s, err);
}

static void read_row(struct statement *s, struct notice_row *row)
{
	row->webhook_id = column_i64(s);
	row->job_id = column_i64(s);
	row->group_id = column_u32(s);
	row->harm = (enum incident_kind)column_i64(s);
	row->incident_id = column_u32(s);
	row->rule_id = column_i64(s);
	row->state = (enum notice_state)column_i64(s);
	row->severity = (enum severity)column_i64(s);
	row->due_ms = column_i64(s);
	row->told_ms = column_i64(s);
	row->is_standing = column_bool(s);
}

enum status store_read_notice(struct store_reader *reader, struct notice_row *row, bool *is_there, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, reader,
		"SELECT " NOTICE_COLUMNS
		" FROM notices WHERE webhook_id = ? AND job_id = ? AND group_id = ? AND harm = ?",
		err));
	bind_i64(&s, row->webhook_id);
	bind_i64(&s, row->job_id);
	bind_i64(&s, row->group_id);
	bind_i64(&s, row->harm);
	TRY(statement_step(&s, is_there, err));
	if (*is_there)
		read_row(&s, row);
	return statement_check(&s, err);
}

static enum status read_all(
	struct statement *s, struct arena *arena, struct notice_row **out, size_t *count, struct error *err)
{
	struct notice_row *rows = NULL;
	size_t used = 0, cap = 0;
	bool has_row;

	TRY(statement_step(s, &has_row, err));
	for (; has_row; used++) {
		rows = rows_grow(arena, rows, used, &cap, sizeof *rows);
		if (!rows)
			return error_no_memory(err);
		read_row(s, &rows[used]);
		TRY(statement_step(s, &has_row, err));
	}
	*out = rows;
	*count = used;
	return statement_check(s, err);
}

enum status store_read_group_notices(struct store_reader *reader, struct arena *arena, int64_t webhook_id,
	int64_t job_id, uint32_t group_id, struct notice_row **out, size_t *count, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, reader,
		"SELECT " NOTICE_COLUMNS
		" FROM notices WHERE webhook_id = ? AND job_id = ? AND group_id = ? ORDER BY harm",
		err));
	bind_i64(&s, webhook_id);
	bind_i64(&s, job_id);
	bind_i64(&s, group_id);
	return read_all(&s, arena, out, count, err);
}

enum status store_read_due_notices(struct store_reader *reader, struct arena *arena, int64_t now_ms, size_t limit,
	struct notice_row **out, size_t *count, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, reader,
		"SELECT " NOTICE_COLUMNS " FROM notices WHERE state < 2 AND due_ms <= ?"
		" ORDER BY webhook_id, state, due_ms, job_id, group_id, harm LIMIT ?",
		err));
	bind_i64(&s, now_ms);
	bind_u64(&s, limit);
	return read_all(&s, arena, out, count, err);
}

static enum status read_i64(struct statement *s, int64_t otherwise, int64_t *out, struct error *err)
{
	bool has_row;

	TRY(statement_step(s, &has_row, err));
	*out = has_row ? column_i64(s) : otherwise;
	return OK;
}

enum status store_next_notice_ms(struct store_reader *reader, int64_t *due_ms, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, reader, "SELECT due_ms FROM notices WHERE state < 2 ORDER BY due_ms LIMIT 1", err));
	return read_i64(&s, INT64_MAX, due_ms, err);
}

enum status store_free_notices(
	struct store_tx *tx, int64_t rule_id, int64_t persistence_ms, int64_t now_ms, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, store_tx_reader(tx),
		"UPDATE notices SET rule_id = 0, due_ms = CASE told_ms WHEN 0 THEN min(due_ms - ?, ?) ELSE due_ms END"
		" WHERE rule_id = ? AND state = 0",
		err));
	bind_i64(&s, persistence_ms);
	bind_i64(&s, now_ms);
	bind_i64(&s, rule_id);
	return statement_run(&s, err);
}

enum status store_last_notice_ms(struct store_reader *reader, int64_t webhook_id, int64_t job_id, int64_t rule_id,
	int64_t *told_ms, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, reader,
		"SELECT coalesce(max(told_ms), 0) FROM notices WHERE webhook_id = ? AND job_id = ? AND rule_id = ?",
		err));
	bind_i64(&s, webhook_id);
	bind_i64(&s, job_id);
	bind_i64(&s, rule_id);
	TRY(read_i64(&s, 0, told_ms, err));
	*told_ms = *told_ms ? *told_ms : INT64_MIN;
	return OK;
}

enum status store_delete_notices(struct store_tx *tx, int64_t before_ms, size_t limit, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, store_tx_reader(tx),
		"DELETE FROM notices WHERE (webhook_id, job_id, group_id, harm) IN (SELECT webhook_id, job_id, group_id, harm FROM notices"
		" WHERE state = 3 AND told_ms < ? ORDER BY told_ms LIMIT ?)",
		err));
	bind_i64(&s, before_ms);
	bind_u64(&s, limit);
	return statement_run(&s, err);
}

enum status store_count_deliveries(
	struct store_reader *reader, int64_t webhook_id, int64_t since_ms, uint64_t *count, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	bool has_row;

	TRY(statement_open(&s, reader, "SELECT count(*) FROM deliveries WHERE webhook_id = ? AND created_ms > ?", err));
	bind_i64(&s, webhook_id);
	bind_i64(&s, since_ms);
	TRY(statement_step(&s, &has_row, err));
	*count = column_u64(&s);
	return statement_check(&s, err);
}
