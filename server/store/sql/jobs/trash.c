#include "store/trash.h"

#include "store/columns/job_changes.h"
#include "store/driver/rows.h"
#include "store/driver/statement.h"
#include "store/sql/fleet/deleted_jobs.h"
#include "store/sql/jobs/jobs.h"

#define JOB_COLUMNS                                                                                                    \
	"job_id, name, team, status, secondary, failure_reason, created_ms, announced_ms, started_ms, ended_ms,"       \
	" modified_ms, generation, is_implicit, started_known_ms, ended_known_ms"
#define TRASH_COLUMNS "deleted_ms, deleted_by, bytes"
#define WHOLE "SELECT " JOB_COLUMNS ", " TRASH_COLUMNS ", document FROM trashed_jobs"

static const struct row_field fields[] = {FIELD(struct trashed_job, job.job_id), FIELD(struct trashed_job, job.name),
	FIELD(struct trashed_job, job.team), FIELD(struct trashed_job, job.status),
	FIELD(struct trashed_job, job.secondary), FIELD(struct trashed_job, job.failure_reason),
	FIELD(struct trashed_job, job.created_ms), FIELD(struct trashed_job, job.announced_ms),
	FIELD(struct trashed_job, job.started_ms), FIELD(struct trashed_job, job.ended_ms),
	FIELD(struct trashed_job, job.modified_ms), FIELD(struct trashed_job, job.generation),
	FIELD(struct trashed_job, job.is_implicit), FIELD(struct trashed_job, job.started_known_ms),
	FIELD(struct trashed_job, job.ended_known_ms), FIELD(struct trashed_job, deleted_ms),
	FIELD(struct trashed_job, deleted_by), FIELD(struct trashed_job, bytes),
	FIELD(struct trashed_job, job.document)};

static enum status move_row(struct store_tx *tx, const struct trashed_job *trashed, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, store_tx_reader(tx),
		"INSERT INTO trashed_jobs (" JOB_COLUMNS ", " TRASH_COLUMNS ", document) SELECT " JOB_COLUMNS
		", CAST(?2 AS BIGINT), CAST(?3 AS TEXT), CAST(?4 AS BIGINT), document FROM jobs WHERE job_id = ?1",
		err));
	bind_i64(&s, trashed->job.job_id);
	bind_i64(&s, trashed->deleted_ms);
	bind_text(&s, trashed->deleted_by);
	bind_u64(&s, trashed->bytes);
	return statement_run(&s, err);
}

enum status store_trash_job(struct store_tx *tx, const struct trashed_job *trashed, struct error *err)
{
	/* What is read without the job's row, and what somebody would still do for it. */
	static const char *const statements[] = {
		"UPDATE deliveries SET job_id = 0 WHERE job_id = ? AND state = 0",
		"DELETE FROM deliveries WHERE job_id = ?",
		"DELETE FROM notices WHERE job_id = ?",
		"DELETE FROM attributes WHERE job_id = ?",
		"DELETE FROM told_anew WHERE job_id = ?",
		"DELETE FROM emergencies WHERE job_id = ?",
		"DELETE FROM run_names WHERE name = (SELECT name FROM jobs WHERE job_id = ?)",
		"DELETE FROM jobs WHERE job_id = ?",
	};
	int64_t job_id = trashed->job.job_id;
	size_t changed;

	TRY(tx_note_change(tx, job_id, SEARCH_CHANGED_JOB | SEARCH_CHANGED_DOCUMENT | SEARCH_CHANGED_METRICS, err));
	TRY(fleet_forget_job(tx, job_id, err));
	TRY(goodput_set_aside(tx, job_id, err));
	TRY(move_row(tx, trashed, err));
	for (size_t i = 0; i < sizeof statements / sizeof *statements; i++)
		TRY(run_for_job(tx, statements[i], job_id, err));
	TRY(tx_changed_rows(tx, &changed, err));
	return changed ? OK : error_set(err, ERR_NOT_FOUND, "there is no job with number %lld", (long long)job_id);
}

enum status store_restore_job(struct store_tx *tx, const struct job_row *job, struct error *err)
{
	size_t changed;

	TRY(run_for_job(tx, "DELETE FROM trashed_jobs WHERE job_id = ?", job->job_id, err));
	TRY(tx_changed_rows(tx, &changed, err));
	if (!changed)
		return error_set(err, ERR_NOT_FOUND, "there is no job '%.*s' in the trash", SPAN_ARGS(job->name));
	TRY(goodput_take_back(tx, job->job_id, err));
	TRY(store_insert_job(tx, job, err));
	return tx_note_change(tx, job->job_id, SEARCH_CHANGED_METRICS, err);
}

enum status store_purge_job(struct store_tx *tx, int64_t job_id, struct error *err)
{
	/* first: of a job that was restored meanwhile nothing may go, whatever the caller makes of the error */
	TRY(run_for_job(tx, "DELETE FROM trashed_jobs WHERE job_id = ?", job_id, err));
	TRY(job_bury(tx, job_id, err));
	return job_forget(tx, job_id, err);
}

/* ---- reading ---- */

enum status store_read_trashed(
	struct store_reader *reader, struct arena *arena, int64_t job_id, struct trashed_job *out, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	bool is_there;

	TRY(statement_open(&s, reader, WHOLE " WHERE job_id = ?", err));
	bind_i64(&s, job_id);
	TRY(row_read(&s, arena, ROWS(fields, struct trashed_job), out, &is_there, err));
	return is_there ? OK : ERR_NOT_FOUND;
}

static enum status say_absent(struct span name, int64_t job_id, struct error *err)
{
	if (job_id)
		return error_set(err, ERR_NOT_FOUND, "there is no job '%.*s' with the id %lld in the trash",
			SPAN_ARGS(name), (long long)job_id);
	return error_set(err, ERR_NOT_FOUND, "there is no job '%.*s' in the trash", SPAN_ARGS(name));
}

enum status store_find_trashed(struct store_reader *reader, struct arena *arena, struct span name, int64_t job_id,
	struct trashed_job *out, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	bool is_there;

	TRY(statement_open(&s, reader,
		WHOLE
		" WHERE name = ?1 AND (?2 = 0 OR job_id = ?2) ORDER BY name DESC, deleted_ms DESC, job_id DESC LIMIT 1",
		err));
	bind_text(&s, name);
	bind_i64(&s, job_id);
	TRY(row_read(&s, arena, ROWS(fields, struct trashed_job), out, &is_there, err));
	return is_there ? OK : say_absent(name, job_id, err);
}

enum status store_count_trashed(struct store_reader *reader, struct span name, uint64_t *count, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	bool has_row;

	TRY(statement_open(&s, reader, "SELECT count(*) FROM trashed_jobs WHERE name = ?", err));
	bind_text(&s, name);
	TRY(statement_step(&s, &has_row, err));
	*count = column_u64(&s);
	return statement_check(&s, err);
}

enum status store_read_trash(struct store_reader *reader, struct arena *arena, const struct trash_place *behind,
	size_t limit, struct trashed_job **out, size_t *count, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, reader,
		"SELECT " JOB_COLUMNS ", " TRASH_COLUMNS ", '' FROM trashed_jobs WHERE (deleted_ms, job_id) < (?, ?)"
		" ORDER BY deleted_ms DESC, job_id DESC LIMIT ?",
		err));
	bind_numbers(&s, behind->deleted_ms, behind->job_id, (int64_t)limit);
	return rows_read(&s, arena, ROWS(fields, struct trashed_job), out, count, err);
}

enum status store_weigh_trash(struct store_reader *reader, uint64_t *count, uint64_t *bytes, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	bool has_row;

	TRY(statement_open(
		&s, reader, "SELECT count(*), CAST(coalesce(sum(bytes), 0) AS BIGINT) FROM trashed_jobs", err));
	TRY(statement_step(&s, &has_row, err));
	*count = column_u64(&s);
	*bytes = column_u64(&s);
	return statement_check(&s, err);
}

enum status store_oldest_trashed(struct store_reader *reader, int64_t before_ms, int64_t *job_id, struct error *err)
{
	*job_id = 0;
	return read_number(reader,
		"SELECT job_id FROM trashed_jobs WHERE deleted_ms < ? ORDER BY deleted_ms, job_id LIMIT 1",
		NUMBERS(before_ms), job_id, err);
}

enum status store_weigh_job(struct store_reader *reader, int64_t job_id, uint64_t *bytes, struct error *err)
{
	/* length() of a blob is in the row's head: its pages are not read */
	static const char *const sums[] = {"SELECT coalesce(sum(length(data)), 0) FROM blocks WHERE job_id = ?",
		"SELECT coalesce(sum(length(data)), 0) FROM chunks WHERE job_id = ?",
		"SELECT CAST(coalesce(sum(bytes), 0) AS bigint) FROM attachments WHERE job_id = ?"};

	*bytes = 0;
	for (size_t i = 0; i < sizeof sums / sizeof sums[0]; i++) {
		uint64_t more = 0;
		TRY(read_number(reader, sums[i], NUMBERS(job_id), &more, err));
		*bytes += more;
	}
	return OK;
}
