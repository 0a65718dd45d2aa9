#include "store/sqlite/search_cache.h"
#include "store/sqlite/sqlite_store.h"

enum status store_put_ranking(struct store_tx *tx, int64_t job_id, const struct ranking_row *row, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(tx_note_change(tx, job_id, SEARCH_CHANGED_METRICS, err));
	TRY(statement_open(&s, tx_on(tx),
		"INSERT INTO rankings (job_id, metric, points, best, best_kind, best_step, final, final_kind)"
		" VALUES (?,?,?,?,?,?,?,?) ON CONFLICT (job_id, metric) DO UPDATE SET points = excluded.points,"
		" best = excluded.best, best_kind = excluded.best_kind, best_step = excluded.best_step,"
		" final = excluded.final, final_kind = excluded.final_kind",
		err));
	bind_i64(&s, job_id);
	bind_text(&s, row->metric);
	bind_u64(&s, row->points);
	bind_double(&s, row->best);
	bind_i64(&s, row->best_step);
	bind_double(&s, row->final);
	return statement_run(&s, err);
}

enum status store_read_ranked_points(
	struct store_reader *reader, int64_t job_id, struct span metric, uint64_t *points, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	bool has_row;

	TRY(statement_open(&s, reader, "SELECT points FROM rankings WHERE job_id = ? AND metric = ?", err));
	bind_i64(&s, job_id);
	bind_text(&s, metric);
	TRY(statement_step(&s, &has_row, err));
	*points = has_row ? column_u64(&s) : 0;
	return OK;
}
