#include "store/columns/job_changes.h"
#include "store/driver/rows.h"
#include "store/driver/statement.h"
#include "store/job_facts.h"

static const struct row_field fields[] = {FIELD(struct ranking_row, metric), FIELD(struct ranking_row, mark),
	FIELD(struct ranking_row, best), FIELD(struct ranking_row, best_step), FIELD(struct ranking_row, final)};

enum status store_put_ranking(struct store_tx *tx, int64_t job_id, const struct ranking_row *row, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(tx_note_change(tx, job_id, SEARCH_CHANGED_METRICS, err));
	TRY(statement_open(&s, store_tx_reader(tx),
		"INSERT INTO rankings (job_id, metric, points, best, best_kind, best_step, final, final_kind)"
		" VALUES (?,?,?,?,?,?,?,?) ON CONFLICT (job_id, metric) DO UPDATE SET points = excluded.points,"
		" best = excluded.best, best_kind = excluded.best_kind, best_step = excluded.best_step,"
		" final = excluded.final, final_kind = excluded.final_kind",
		err));
	bind_i64(&s, job_id);
	row_bind(&s, ROWS(fields, struct ranking_row), row);
	return statement_run(&s, err);
}

enum status store_read_rankings(struct store_reader *reader, struct arena *arena, int64_t job_id,
	struct ranking_row **out, size_t *count, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, reader,
		"SELECT metric, points, best, best_kind, best_step, final, final_kind FROM rankings WHERE job_id = ?"
		" ORDER BY metric",
		err));
	bind_i64(&s, job_id);
	return rows_read(&s, arena, ROWS(fields, struct ranking_row), out, count, err);
}
