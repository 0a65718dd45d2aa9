#include "store/columns/job_changes.h"
#include "store/driver/rows.h"
#include "store/driver/statement.h"
#include "store/job_facts.h"
#include "store/sql/jobs/main_metrics.h"

static const struct row_field count_fields[] = {FIELD(struct job_counts, streams), FIELD(struct job_counts, lines),
	FIELD(struct job_counts, last_line_ms), FIELD(struct job_counts, last_heard_ms),
	FIELD(struct job_counts, attempts), FIELD(struct job_counts, work_to_ms)};

static enum status put_counts(struct store_tx *tx, int64_t job_id, const struct job_counts *counts, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, store_tx_reader(tx),
		"INSERT INTO job_counts (job_id, streams, lines, last_line_ms, last_heard_ms, attempts, work_to_ms) VALUES (?,?,?,?,?,?,?) ON CONFLICT"
		" (job_id) DO UPDATE SET streams = excluded.streams, lines = excluded.lines, last_line_ms ="
		" excluded.last_line_ms, last_heard_ms = excluded.last_heard_ms, attempts = excluded.attempts, work_to_ms = excluded.work_to_ms",
		err));
	bind_i64(&s, job_id);
	row_bind(&s, ROWS(count_fields, struct job_counts), counts);
	return statement_run(&s, err);
}

/* A row that says what is there already costs no write: of a hundred metrics few have moved since the last flush. */
#define PUT_SUMMARY                                                                                                                                                                                           \
	"INSERT INTO summaries (job_id, metric, role, main_role, unit, mean, mean_kind, " SUMMARY_COLUMNS ")"                                                                                                 \
	" VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?) ON CONFLICT (job_id, metric) DO UPDATE SET"                                                                                                      \
	" role = excluded.role, main_role = excluded.main_role, unit = excluded.unit, mean = excluded.mean,"                                                                                                  \
	" mean_kind = excluded.mean_kind, count = excluded.count, nan_count = excluded.nan_count,"                                                                                                            \
	" inf_count = excluded.inf_count, last = excluded.last, last_kind = excluded.last_kind, min = excluded.min,"                                                                                          \
	" min_kind = excluded.min_kind, max = excluded.max, max_kind = excluded.max_kind, sum = excluded.sum,"                                                                                                \
	" sum_kind = excluded.sum_kind, first_step = excluded.first_step, last_step = excluded.last_step,"                                                                                                    \
	" last_ts_ms = excluded.last_ts_ms"                                                                                                                                                                   \
	" WHERE (summaries.role, summaries.main_role, summaries.unit, summaries.count, summaries.nan_count,"                                                                                                  \
	" summaries.inf_count, summaries.last, summaries.last_kind, summaries.min, summaries.min_kind, summaries.max,"                                                                                        \
	" summaries.max_kind, summaries.sum, summaries.sum_kind, summaries.first_step, summaries.last_step,"                                                                                                  \
	" summaries.last_ts_ms) IS DISTINCT FROM (excluded.role, excluded.main_role, excluded.unit, excluded.count, excluded.nan_count, excluded.inf_count, excluded.last, excluded.last_kind, excluded.min," \
	" excluded.min_kind, excluded.max, excluded.max_kind, excluded.sum, excluded.sum_kind, excluded.first_step,"                                                                                          \
	" excluded.last_step, excluded.last_ts_ms)"

static enum status put_summary(
	struct store_tx *tx, int64_t job_id, const struct summary_row *row, enum role main_role, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, store_tx_reader(tx), PUT_SUMMARY, err));
	bind_i64(&s, job_id);
	bind_text(&s, row->metric);
	bind_i64(&s, row->role);
	bind_i64(&s, main_role);
	bind_text(&s, row->unit);
	bind_double(&s, summary_mean(&row->summary));
	bind_summary(&s, &row->summary);
	return statement_run(&s, err);
}

static enum status put_rows(
	struct store_tx *tx, int64_t job_id, const struct summary_row *rows, size_t count, struct error *err)
{
	AUTO_MEM enum role *mains = NULL;

	TRY(main_metrics_of(rows, count, &mains, err));
	for (size_t i = 0; i < count; i++)
		TRY(put_summary(tx, job_id, &rows[i], mains[i], err));
	return OK;
}

/* Names are joined and looked for as a whole, each between two of these, which no name of a metric has. */
#define SEPARATOR "\x1f"

/*
 * Of a metric that is gone, as after a change of the definitions. Asks nothing: the database compares by itself, and looks at names (a
 * megabyte of a hundred thousand, for each of them) only where it has more than were put.
 */
static enum status delete_others(
	struct store_tx *tx, int64_t job_id, const struct summary_row *rows, size_t count, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	AUTO_DONE(buf) names = BUF_INIT(SIZE_MAX / 2);

	buf_append_text(&names, SEPARATOR);
	for (size_t i = 0; i < count; i++) {
		buf_append_span(&names, rows[i].metric);
		buf_append_text(&names, SEPARATOR);
	}
	TRY(buf_status(&names, err));
	TRY(statement_open(&s, store_tx_reader(tx),
		"DELETE FROM summaries WHERE job_id = ?1 AND CASE WHEN (SELECT count(*) FROM summaries AS a WHERE a.job_id = ?1) = ?2"
		" THEN 1 = 0 ELSE replace(?4, ?3 || metric || ?3, '') = ?4 END",
		err));
	bind_numbers(&s, job_id, count);
	bind_text(&s, SPAN(SEPARATOR));
	bind_text(&s, buf_span(&names));
	return statement_run(&s, err);
}

enum status store_put_summaries(struct store_tx *tx, int64_t job_id, const struct job_counts *counts,
	const struct summary_row *rows, size_t count, struct error *err)
{
	TRY(tx_note_change(tx, job_id, SEARCH_CHANGED_METRICS, err));
	TRY(put_counts(tx, job_id, counts, err));
	TRY(put_rows(tx, job_id, rows, count, err));
	return delete_others(tx, job_id, rows, count, err);
}

static enum status read_counts(struct store_reader *reader, int64_t job_id, struct job_counts *out, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	bool is_there;

	*out = (struct job_counts){0};
	TRY(statement_open(&s, reader,
		"SELECT streams, lines, last_line_ms, last_heard_ms, attempts, work_to_ms FROM job_counts WHERE job_id = ?",
		err));
	bind_i64(&s, job_id);
	return row_read(&s, NULL, ROWS(count_fields, struct job_counts), out, &is_there, err);
}

static const struct row_field fields[] = {FIELD(struct summary_row, metric), FIELD(struct summary_row, unit),
	FIELD(struct summary_row, role), FIELD(struct summary_row, main_role), FIELD(struct summary_row, summary)};
#define SUMMARIES "SELECT metric, unit, role, main_role, " SUMMARY_COLUMNS " FROM summaries"

enum status store_read_main_summary(struct store_reader *reader, struct arena *arena, int64_t job_id, enum role role,
	struct summary_row *out, bool *is_there, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, reader,
		SUMMARIES " INDEXED BY summaries_by_role WHERE job_id = ? AND main_role = ? AND main_role > 0", err));
	bind_numbers(&s, job_id, role);
	return row_read(&s, arena, ROWS(fields, struct summary_row), out, is_there, err);
}

enum status store_read_summaries(struct store_reader *reader, struct arena *arena, int64_t job_id,
	struct job_counts *counts, struct summary_row **out, size_t *count, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(read_counts(reader, job_id, counts, err));
	TRY(statement_open(&s, reader, SUMMARIES " WHERE job_id = ? ORDER BY metric", err));
	bind_i64(&s, job_id);
	return rows_read(&s, arena, ROWS(fields, struct summary_row), out, count, err);
}
