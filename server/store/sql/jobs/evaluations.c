#include "store/evaluations.h"
#include "store/driver/rows.h"
#include "store/driver/statement.h"

#define COLUMNS                                                                                                        \
	"has_step, step, path, task, metric, step_from, value, error, samples, shots, is_lower, lower_from, is_part,"  \
	" suite, evaluated_ms, received_ms, author"

static const struct row_field fields[] = {FIELD(struct evaluation_score, has_step),
	FIELD(struct evaluation_score, step), FIELD(struct evaluation_score, path),
	FIELD(struct evaluation_score, task), FIELD(struct evaluation_score, metric),
	FIELD(struct evaluation_score, step_from), FIELD_FINITE(struct evaluation_score, value),
	FIELD_FINITE(struct evaluation_score, error), FIELD(struct evaluation_score, samples),
	FIELD(struct evaluation_score, shots), FIELD(struct evaluation_score, is_lower),
	FIELD(struct evaluation_score, lower_from), FIELD(struct evaluation_score, is_part),
	FIELD(struct evaluation_score, suite), FIELD(struct evaluation_score, evaluated_ms),
	FIELD(struct evaluation_score, received_ms), FIELD(struct evaluation_score, author)};

#define PUT                                                                                                            \
	"INSERT INTO evaluations (job_id, " COLUMNS ") VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"                   \
	" ON CONFLICT (job_id, has_step, step, path, task, metric) DO UPDATE SET step_from = excluded.step_from,"      \
	" value = excluded.value, error = excluded.error, samples = excluded.samples, shots = excluded.shots,"         \
	" is_lower = excluded.is_lower, lower_from = excluded.lower_from, is_part = excluded.is_part,"                 \
	" suite = excluded.suite, evaluated_ms = excluded.evaluated_ms, received_ms = excluded.received_ms,"           \
	" author = excluded.author"

static enum status put(struct statement *s, int64_t job_id, const struct evaluation_score *score, struct error *err)
{
	bind_i64(s, job_id);
	row_bind(s, ROWS(fields, struct evaluation_score), score);
	return statement_run(s, err);
}

enum status store_put_evaluation(
	struct store_tx *tx, int64_t job_id, const struct evaluation_score *score, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, store_tx_reader(tx), PUT, err));
	return put(&s, job_id, score, err);
}

enum status store_put_logged_evaluation(
	struct store_tx *tx, int64_t job_id, const struct evaluation_score *score, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, store_tx_reader(tx), PUT " WHERE evaluations.suite = '" EVALUATION_SUITE_LOG "'", err));
	return put(&s, job_id, score, err);
}

enum status store_count_evaluations(struct store_reader *reader, int64_t job_id, uint64_t *count, struct error *err)
{
	return read_number(reader, "SELECT count(*) FROM evaluations WHERE job_id = ?", NUMBERS(job_id), count, err);
}

enum status store_read_evaluations(struct store_reader *reader, struct arena *arena, int64_t job_id,
	const struct evaluation_score *after, size_t limit, struct evaluation_score **out, size_t *count,
	struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, reader,
		after ? "SELECT " COLUMNS
			" FROM evaluations WHERE job_id = ? AND (has_step, step, path, task, metric) > (?,?,?,?,?)"
			" ORDER BY has_step, step, path, task, metric LIMIT ?"
		      : "SELECT " COLUMNS
			" FROM evaluations WHERE job_id = ? ORDER BY has_step, step, path, task, metric LIMIT ?",
		err));
	bind_i64(&s, job_id);
	if (after) {
		bind_numbers(&s, after->has_step, after->step);
		bind_text(&s, after->path);
		bind_text(&s, after->task);
		bind_text(&s, after->metric);
	}
	bind_u64(&s, limit);
	return rows_read(&s, arena, ROWS(fields, struct evaluation_score), out, count, err);
}

enum status store_delete_evaluations(struct store_tx *tx, int64_t job_id, const struct evaluation_score *checkpoint,
	size_t *deleted, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, store_tx_reader(tx),
		"DELETE FROM evaluations WHERE job_id = ? AND has_step = ? AND step = ? AND path = ?", err));
	bind_numbers(&s, job_id, checkpoint->has_step, checkpoint->step);
	bind_text(&s, checkpoint->path);
	TRY(statement_run(&s, err));
	return tx_changed_rows(tx, deleted, err);
}

/* From each job to the one below it, so that what is read are jobs and not their scores. */
enum status store_list_evaluated_jobs(
	struct store_reader *reader, struct arena *arena, size_t limit, int64_t **out, size_t *count, struct error *err)
{
	static const struct row_field ids[] = {FIELD_ALONE(int64_t)};
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, reader,
		"WITH RECURSIVE evaluated (job_id) AS (SELECT max(job_id) FROM evaluations UNION ALL"
		" SELECT (SELECT max(e.job_id) FROM evaluations e WHERE e.job_id < evaluated.job_id) FROM evaluated"
		" WHERE evaluated.job_id IS NOT NULL)"
		" SELECT job_id FROM evaluated WHERE job_id IS NOT NULL ORDER BY job_id DESC LIMIT ?",
		err));
	bind_u64(&s, limit);
	return rows_read(&s, arena, ROWS(ids, int64_t), out, count, err);
}

enum status store_has_evaluation(
	struct store_reader *reader, int64_t job_id, const struct evaluation_score *like, bool *has, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, reader,
		"SELECT 1 FROM evaluations WHERE job_id = ? AND has_step = ? AND step = ? AND path = ? AND task = ? AND metric = ?",
		err));
	bind_numbers(&s, job_id, like->has_step, like->step);
	bind_text(&s, like->path);
	bind_text(&s, like->task);
	bind_text(&s, like->metric);
	return statement_step(&s, has, err);
}

/* ---- marks ---- */

enum status store_mark_evaluations(struct store_tx *tx, int64_t job_id, struct error *err)
{
	return run_for_job(tx,
		"INSERT INTO evaluation_marks (job_id, mark) VALUES (?, 1)"
		" ON CONFLICT (job_id) DO UPDATE SET mark = evaluation_marks.mark + 1",
		job_id, err);
}

enum status store_read_evaluation_marks(struct store_reader *reader, struct arena *arena, int64_t after_job_id,
	size_t limit, struct evaluation_mark **out, size_t *count, struct error *err)
{
	static const struct row_field marks[] = {
		FIELD(struct evaluation_mark, job_id), FIELD(struct evaluation_mark, mark)};
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, reader,
		"SELECT m.job_id, m.mark FROM evaluation_marks m JOIN jobs j ON j.job_id = m.job_id WHERE m.job_id > ?"
		" ORDER BY m.job_id LIMIT ?",
		err));
	bind_i64(&s, after_job_id);
	bind_u64(&s, limit);
	return rows_read(&s, arena, ROWS(marks, struct evaluation_mark), out, count, err);
}

enum status store_end_evaluation_mark(struct store_tx *tx, const struct evaluation_mark *mark, struct error *err)
{
	return run_with(tx, "DELETE FROM evaluation_marks WHERE job_id = ? AND mark = ?",
		NUMBERS(mark->job_id, mark->mark), err);
}
