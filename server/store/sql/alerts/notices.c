/* What webhooks were told of groups of incidents: rows written with the deliveries themselves. */
#include "model/incident.h"
#include "store/alerts.h"
#include "store/driver/rows.h"
#include "store/driver/statement.h"

#define NOTICE_COLUMNS                                                                                                 \
	"webhook_id, job_id, group_id, harm, incident_id, rule_id, state, severity, due_ms, told_ms, is_standing"

static const struct row_field fields[] = {FIELD(struct notice_row, webhook_id), FIELD(struct notice_row, job_id),
	FIELD(struct notice_row, group_id), FIELD(struct notice_row, harm), FIELD(struct notice_row, incident_id),
	FIELD(struct notice_row, rule_id), FIELD(struct notice_row, state), FIELD(struct notice_row, severity),
	FIELD(struct notice_row, due_ms), FIELD(struct notice_row, told_ms), FIELD(struct notice_row, standing)};

enum status store_put_notice(struct store_tx *tx, const struct notice_row *row, struct error *err)
{
	return row_put(tx,
		"INSERT INTO notices (" NOTICE_COLUMNS ") VALUES (?,?,?,?,?,?,?,?,?,?,?)"
		" ON CONFLICT (webhook_id, job_id, group_id, harm) DO UPDATE SET incident_id = excluded.incident_id,"
		" rule_id = excluded.rule_id, state = excluded.state, severity = excluded.severity,"
		" due_ms = excluded.due_ms, told_ms = excluded.told_ms, is_standing = excluded.is_standing",
		ROWS(fields, struct notice_row), row, err);
}

enum status store_read_notice(struct store_reader *reader, struct notice_row *row, bool *is_there, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, reader,
		"SELECT " NOTICE_COLUMNS
		" FROM notices WHERE webhook_id = ? AND job_id = ? AND group_id = ? AND harm = ?",
		err));
	bind_numbers(&s, row->webhook_id, row->job_id, row->group_id, row->harm);
	return row_read(&s, NULL, ROWS(fields, struct notice_row), row, is_there, err);
}

enum status store_read_group_notices(struct store_reader *reader, struct arena *arena, int64_t webhook_id,
	int64_t job_id, uint32_t group_id, struct notice_row **out, size_t *count, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, reader,
		"SELECT " NOTICE_COLUMNS
		" FROM notices WHERE webhook_id = ? AND job_id = ? AND group_id = ? ORDER BY harm",
		err));
	bind_numbers(&s, webhook_id, job_id, group_id);
	return rows_read(&s, arena, ROWS(fields, struct notice_row), out, count, err);
}

enum status store_read_due_notices(struct store_reader *reader, struct arena *arena, int64_t now_ms, size_t limit,
	struct notice_row **out, size_t *count, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, reader,
		"SELECT " NOTICE_COLUMNS " FROM notices WHERE state < 2 AND due_ms <= ?"
		" ORDER BY webhook_id, state, due_ms, job_id, group_id, harm LIMIT ?",
		err));
	bind_numbers(&s, now_ms, limit);
	return rows_read(&s, arena, ROWS(fields, struct notice_row), out, count, err);
}

enum status store_read_group_due_notices(struct store_reader *reader, struct arena *arena, uint32_t group_id,
	int64_t now_ms, size_t limit, struct notice_row **out, size_t *count, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, reader,
		"SELECT " NOTICE_COLUMNS " FROM notices WHERE state < 2 AND due_ms <= ? AND group_id = ?"
		" ORDER BY due_ms, webhook_id, job_id LIMIT ?",
		err));
	bind_numbers(&s, now_ms, group_id, limit);
	return rows_read(&s, arena, ROWS(fields, struct notice_row), out, count, err);
}

enum status store_next_notice_ms(struct store_reader *reader, int64_t *due_ms, struct error *err)
{
	*due_ms = INT64_MAX;
	return read_number(
		reader, "SELECT due_ms FROM notices WHERE state < 2 ORDER BY due_ms LIMIT 1", NUMBERS(), due_ms, err);
}

enum status store_free_notices(
	struct store_tx *tx, int64_t rule_id, int64_t persistence_ms, int64_t now_ms, struct error *err)
{
	return run_with(tx,
		"UPDATE notices SET rule_id = 0, due_ms = CASE WHEN told_ms <> 0 THEN due_ms WHEN due_ms - ?1 < ?2 THEN due_ms - ?1"
		" ELSE ?2 END WHERE rule_id = ?3 AND state = 0",
		NUMBERS(persistence_ms, now_ms, rule_id), err);
}

enum status store_last_notice_ms(struct store_reader *reader, int64_t webhook_id, int64_t job_id, int64_t rule_id,
	int64_t *told_ms, struct error *err)
{
	*told_ms = 0;
	TRY(read_number(reader,
		"SELECT coalesce(max(told_ms), 0) FROM notices WHERE webhook_id = ? AND job_id = ? AND rule_id = ?",
		NUMBERS(webhook_id, job_id, rule_id), told_ms, err));
	*told_ms = *told_ms ? *told_ms : INT64_MIN;
	return OK;
}

enum status store_delete_notices(struct store_tx *tx, int64_t before_ms, size_t limit, struct error *err)
{
	return run_with(tx,
		"DELETE FROM notices WHERE (webhook_id, job_id, group_id, harm) IN (SELECT webhook_id, job_id, group_id, harm FROM notices"
		" WHERE state = 3 AND told_ms < ? ORDER BY told_ms LIMIT ?)",
		NUMBERS(before_ms, limit), err);
}

enum status store_count_deliveries(
	struct store_reader *reader, int64_t webhook_id, int64_t since_ms, uint64_t *count, struct error *err)
{
	return read_number(reader, "SELECT count(*) FROM deliveries WHERE webhook_id = ? AND created_ms > ?",
		NUMBERS(webhook_id, since_ms), count, err);
}
