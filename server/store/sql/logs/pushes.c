#include "store/driver/statement.h"
#include "store/pushes.h"

static void bind_push(struct statement *s, const struct push_row *row)
{
	bind_i64(s, row->job_id);
	bind_i64(s, row->stream_id);
	bind_u64(s, row->hash.low);
	bind_u64(s, row->hash.high);
}

enum status store_is_push_known(
	struct store_tx *tx, const struct push_row *row, int64_t since_ms, bool *is_known, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, store_tx_reader(tx),
		"SELECT 1 FROM pushes WHERE job_id = ? AND stream_id = ? AND hash_low = ? AND hash_high = ? AND seen_ms >= ?",
		err));
	bind_push(&s, row);
	bind_i64(&s, since_ms);
	return statement_step(&s, is_known, err);
}

enum status store_put_push(struct store_tx *tx, const struct push_row *row, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, store_tx_reader(tx),
		"INSERT INTO pushes (job_id, stream_id, hash_low, hash_high, seen_ms) VALUES (?,?,?,?,?)"
		" ON CONFLICT DO UPDATE SET seen_ms = excluded.seen_ms",
		err));
	bind_push(&s, row);
	bind_i64(&s, row->seen_ms);
	return statement_run(&s, err);
}

enum status store_oldest_push(
	struct store_reader *reader, uint64_t kept, int64_t *oldest_ms, int64_t *surplus_ms, struct error *err)
{
	AUTO_DONE(statement) oldest = {0};
	AUTO_DONE(statement) surplus = {0};
	bool has_row;

	TRY(statement_open(&oldest, reader, "SELECT seen_ms FROM pushes ORDER BY seen_ms LIMIT 1", err));
	TRY(statement_step(&oldest, &has_row, err));
	*oldest_ms = has_row ? column_i64(&oldest) : INT64_MAX;
	TRY(statement_open(&surplus, reader, "SELECT seen_ms FROM pushes ORDER BY seen_ms DESC LIMIT 1 OFFSET ?", err));
	bind_u64(&surplus, kept);
	TRY(statement_step(&surplus, &has_row, err));
	*surplus_ms = has_row ? column_i64(&surplus) : INT64_MIN;
	return OK;
}

enum status store_delete_pushes(struct store_tx *tx, int64_t until_ms, size_t limit, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, store_tx_reader(tx),
		"DELETE FROM pushes WHERE (job_id, stream_id, hash_low, hash_high) IN (SELECT job_id, stream_id, hash_low,"
		" hash_high FROM pushes WHERE seen_ms <= ? ORDER BY seen_ms LIMIT ?)",
		err));
	bind_i64(&s, until_ms);
	bind_u64(&s, limit);
	return statement_run(&s, err);
}
