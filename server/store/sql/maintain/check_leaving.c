#include "store/sql/maintain/check_leaving.h"

#include "store/driver/rows.h"
#include "store/driver/statement.h"

/* Of jobs: in neither table is one that is being swept, or that an import has not made whole yet. */
#define NO_JOB                                                                                                         \
	"SELECT 1 WHERE (NOT EXISTS (SELECT 1 FROM jobs WHERE job_id = ?1)"                                            \
	" AND NOT EXISTS (SELECT 1 FROM trashed_jobs WHERE job_id = ?1))"

static enum status is_said(struct store_reader *reader, const char *sql, const int64_t *numbers, size_t count,
	bool *is_leaving, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, reader, sql, err));
	for (size_t i = 0; i < count; i++)
		bind_i64(&s, numbers[i]);
	return statement_step(&s, is_leaving, err);
}

enum status check_is_leaving(struct store_reader *reader, const char *part, int64_t job_id, int64_t part_id,
	bool *is_leaving, struct error *err)
{
	const int64_t numbers[] = {job_id, part_id};
	bool is_new_enough;

	*is_leaving = false;
	TRY(check_has_table(reader, "trashed_jobs", &is_new_enough, err));
	if (!is_new_enough)
		return OK;
	if (strcmp(part, "series") == 0)
		return is_said(reader,
			NO_JOB
			" OR NOT EXISTS (SELECT 1 FROM series WHERE job_id = ?1 AND series_id = ?2)"
			" OR EXISTS (SELECT 1 FROM dead_series WHERE job_id = ?1 AND ?2 BETWEEN first_id AND last_id)",
			numbers, 2, is_leaving, err);
	if (strcmp(part, "attachment") == 0)
		return is_said(reader,
			NO_JOB " OR NOT EXISTS (SELECT 1 FROM attachments WHERE job_id = ?1 AND attachment_id = ?2)",
			numbers, 2, is_leaving, err);
	return is_said(reader, NO_JOB, numbers, 1, is_leaving, err);
}
