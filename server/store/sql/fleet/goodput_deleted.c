/* What jobs cost in another currency than the list's: those that were deleted by day and currency, and those with a price by hand. */
#include "store/driver/common_sql.h"
#include "store/driver/rows.h"
#include "store/driver/statement.h"
#include "store/fleet_rows.h"
#include "store/goodput.h"
#include "store/sql/fleet/deleted_jobs.h"

#define SUM_MAX "1000000000000000000" /* as of the fleet's days */

enum status store_read_deleted_costs(struct store_reader *reader, struct arena *arena, struct span currency,
	int64_t first, int64_t last, struct deleted_cost **out, size_t *count, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	static const struct row_field fields[] = {FIELD(struct deleted_cost, currency),
		FIELD(struct deleted_cost, cost), FIELD(struct deleted_cost, lost_cost)};

	TRY(statement_open(&s, reader,
		"SELECT currency, " SQL_TOTAL("cost") ", " SQL_TOTAL(
			"lost_cost") " FROM"
				     " (SELECT currency, cost, lost_cost FROM goodput_deleted"
				     " WHERE day BETWEEN ?1 AND ?2 AND currency NOT IN ('', ?3) UNION ALL"
				     " SELECT g.currency, d.cost, d.lost_cost FROM goodput AS g INDEXED BY goodput_by_other_currency CROSS JOIN goodput_days AS d"
				     " WHERE d.job_id = g.job_id AND g.unpriced <> '' AND g.cost IS NOT NULL AND d.day BETWEEN ?1 AND ?2 AND g.currency NOT IN ('', ?3)"
				     " AND g.job_id NOT IN (SELECT job_id FROM trashed_jobs)) AS costs"
				     " GROUP BY currency ORDER BY currency",
		err));
	bind_i64(&s, first);
	bind_i64(&s, last);
	bind_text(&s, currency);
	return rows_read(&s, arena, ROWS(fields, struct deleted_cost), out, count, err);
}

/* It may be that of costs that are noted. */
enum status store_name_deleted_costs(struct store_tx *tx, struct span currency, struct error *err)
{
	AUTO_DONE(statement) add = {0};
	AUTO_DONE(statement) forget = {0};
	AUTO_DONE(statement) trash = {0};

	TRY(statement_open(&add, store_tx_reader(tx),
		"INSERT INTO goodput_deleted (day, currency, cost, lost_cost, billed)"
		" SELECT day, CAST(? AS TEXT), cost, lost_cost, billed FROM goodput_deleted WHERE currency = '' ON CONFLICT (day, currency)"
		" DO UPDATE SET cost = goodput_deleted.cost + excluded.cost,"
		" lost_cost = goodput_deleted.lost_cost + excluded.lost_cost, billed = goodput_deleted.billed + excluded.billed",
		err));
	bind_text(&add, currency);
	TRY(statement_run(&add, err));
	TRY(statement_open(&forget, store_tx_reader(tx), "DELETE FROM goodput_deleted WHERE currency = ''", err));
	TRY(statement_run(&forget, err));
	TRY(statement_open(&trash, store_tx_reader(tx), /* by which goodput_take_back finds it */
		"UPDATE goodput SET currency = CAST(? AS TEXT) WHERE currency = '' AND job_id IN (SELECT job_id FROM trashed_jobs)",
		err));
	bind_text(&trash, currency);
	return statement_run(&trash, err);
}

/* sign: it is one of the jobs without a price from now on, or no more. */
static enum status count_unpriced(struct store_tx *tx, int64_t job_id, int64_t sign, struct error *err)
{
	int64_t is_one = 0;

	TRY(read_number(store_tx_reader(tx), "SELECT 1 FROM goodput WHERE job_id = ? AND unpriced <> ''",
		NUMBERS(job_id), &is_one, err));
	return store_add_fleet_total(tx, "unpriced_jobs", SPAN(""), sign * is_one, err);
}

static enum status run_each(
	struct store_tx *tx, const char *const *statements, size_t count, int64_t job_id, struct error *err)
{
	for (size_t i = 0; i < count; i++)
		TRY(run_for_job(tx, statements[i], job_id, err));
	return OK;
}

/*
 * The fleet's days keep its hours; what it cost is of the currency of now, whatever prices will be put later. Its hours that have a
 * cost are without a price as long as the list is in another currency: that is told by the row of its cost, and no more by the totals.
 */
enum status goodput_set_aside(struct store_tx *tx, int64_t job_id, struct error *err)
{
	static const char *const statements[] = {
		"INSERT INTO goodput_deleted (day, currency, cost, lost_cost, billed)"
		" SELECT d.day, g.currency, d.cost, d.lost_cost, d.billed"
		" FROM goodput_days AS d JOIN goodput AS g ON g.job_id = d.job_id"
		" WHERE d.job_id = ? AND (d.cost <> 0 OR d.lost_cost <> 0) ON CONFLICT (day, currency) DO UPDATE SET"
		" cost = " SQL_LESSER("goodput_deleted.cost + excluded.cost",
			SUM_MAX) ","
				 " lost_cost = " SQL_LESSER("goodput_deleted.lost_cost + excluded.lost_cost",
					 SUM_MAX) ","
						  " billed = " SQL_LESSER(
							  "goodput_deleted.billed + excluded.billed", SUM_MAX),
		("UPDATE goodput_totals SET cost = goodput_totals.cost - CASE WHEN d.unpriced <> 0 THEN 0 ELSE d.cost END,"
		 " lost_cost = goodput_totals.lost_cost - CASE WHEN d.unpriced <> 0 THEN 0 ELSE d.lost_cost END,"
		 " unpriced = goodput_totals.unpriced - CASE WHEN d.cost <> 0 OR d.lost_cost <> 0 THEN d.unpriced ELSE 0 END"
		 " FROM goodput_days AS d WHERE d.job_id = ? AND d.day = goodput_totals.day"),
		"UPDATE goodput SET due_ms = 0 WHERE job_id = ?",
	};

	TRY(count_unpriced(tx, job_id, -1, err));
	return run_each(tx, statements, sizeof statements / sizeof *statements, job_id, err);
}

/* The same, backwards; then it is worked out anew, by the prices of now. */
enum status goodput_take_back(struct store_tx *tx, int64_t job_id, struct error *err)
{
	static const char *const statements[] = {
		("UPDATE goodput_deleted SET cost = goodput_deleted.cost - d.cost, lost_cost = goodput_deleted.lost_cost - d.lost_cost,"
		 " billed = goodput_deleted.billed - d.billed FROM goodput_days AS d JOIN goodput AS g ON g.job_id = d.job_id"
		 " WHERE d.job_id = ? AND (d.cost <> 0 OR d.lost_cost <> 0) AND goodput_deleted.day = d.day"
		 " AND goodput_deleted.currency = g.currency"),
		"DELETE FROM goodput_deleted WHERE cost = 0 AND lost_cost = 0 AND billed = 0"
		" AND day IN (SELECT d.day FROM goodput_days AS d WHERE d.job_id = ?)",
		("UPDATE goodput_totals SET cost = goodput_totals.cost + CASE WHEN d.unpriced <> 0 THEN 0 ELSE d.cost END,"
		 " lost_cost = goodput_totals.lost_cost + CASE WHEN d.unpriced <> 0 THEN 0 ELSE d.lost_cost END,"
		 " unpriced = goodput_totals.unpriced + CASE WHEN d.cost <> 0 OR d.lost_cost <> 0 THEN d.unpriced ELSE 0 END"
		 " FROM goodput_days AS d WHERE d.job_id = ? AND d.day = goodput_totals.day"),
	};

	TRY(count_unpriced(tx, job_id, 1, err));
	return run_each(tx, statements, sizeof statements / sizeof *statements, job_id, err);
}

enum status goodput_drop(struct store_tx *tx, int64_t job_id, struct error *err)
{
	static const char *const statements[] = {
		"DELETE FROM goodput WHERE job_id = ?",
		"DELETE FROM goodput_days WHERE job_id = ?",
	};

	return run_each(tx, statements, sizeof statements / sizeof *statements, job_id, err);
}

/* ---- prices that were set by hand ---- */

enum status store_read_jobs_of_key(struct store_reader *reader, struct arena *arena, struct span key,
	struct span without, size_t limit, struct span **out, size_t *count, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	size_t cap = 0;
	bool has_row;

	*out = NULL;
	*count = 0;
	TRY(statement_open(&s, reader,
		"SELECT j.name FROM attributes AS a INDEXED BY attributes_by_key CROSS JOIN jobs AS j"
		" WHERE j.job_id = a.job_id AND a.key = ? AND NOT EXISTS (SELECT 1 FROM attributes AS b WHERE b.job_id = a.job_id AND b.key = ?)"
		" ORDER BY a.job_id LIMIT ?",
		err));
	bind_text(&s, key);
	bind_text(&s, without);
	bind_i64(&s, (int64_t)limit);
	for (;;) {
		TRY(statement_step(&s, &has_row, err));
		if (!has_row)
			return OK;
		*out = rows_grow(arena, *out, *count, &cap, sizeof **out);
		if (!*out)
			return error_no_memory(err);
		(*out)[(*count)++] = column_span(&s, arena);
		TRY(statement_check(&s, err));
	}
}

enum status store_count_jobs_of_other_value(struct store_reader *reader, struct span key, struct span text,
	struct span with, uint64_t *count, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	bool has_row;

	TRY(statement_open(&s, reader,
		"SELECT count(*) FROM attributes AS a WHERE a.key = ? AND a.text <> ?"
		" AND EXISTS (SELECT 1 FROM attributes AS b WHERE b.job_id = a.job_id AND b.key = ?)",
		err));
	bind_text(&s, key);
	bind_text(&s, text);
	bind_text(&s, with);
	TRY(statement_step(&s, &has_row, err));
	*count = column_u64(&s);
	return statement_check(&s, err);
}
