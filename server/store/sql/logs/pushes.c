#include "store/driver/rows.h"
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
		" ON CONFLICT (job_id, stream_id, hash_low, hash_high) DO UPDATE SET seen_ms = excluded.seen_ms",
		err));
	bind_push(&s, row);
	bind_i64(&s, row->seen_ms);
	return statement_run(&s, err);
}

enum status store_oldest_push(
	struct store_reader *reader, uint64_t kept, int64_t *oldest_ms, int64_t *surplus_ms, struct error *err)
{
	*oldest_ms = INT64_MAX;
	*surplus_ms = INT64_MIN;
	TRY(read_number(reader, "SELECT seen_ms FROM pushes ORDER BY seen_ms LIMIT 1", NUMBERS(), oldest_ms, err));
	return read_number(reader, "SELECT seen_ms FROM pushes ORDER BY seen_ms DESC LIMIT 1 OFFSET ?", NUMBERS(kept),
		surplus_ms, err);
}

enum status store_delete_pushes(struct store_tx *tx, int64_t until_ms, size_t limit, struct error *err)
{
	return run_with(tx,
		"DELETE FROM pushes WHERE (job_id, stream_id, hash_low, hash_high) IN (SELECT job_id, stream_id, hash_low,"
		" hash_high FROM pushes WHERE seen_ms <= ? ORDER BY seen_ms LIMIT ?)",
		NUMBERS(until_ms, limit), err);
}
