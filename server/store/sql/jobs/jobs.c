#include "store/sql/jobs/jobs.h"

#include "base/clock.h"
#include "model/known.h"
#include "store/backfills.h"
#include "store/columns/case_fold.h"
#include "store/columns/job_changes.h"
#include "store/driver/rows.h"
#include "store/driver/statement.h"
#include "store/jobs.h"
#include "store/search.h"
#include "store/sql/fleet/deleted_jobs.h"
#include "store/sql/jobs/attributes.h"

enum { NAME_FOLDED_MAX_BYTES = 4096 };

#define JOB_COLUMNS                                                                                                                              \
	"job_id, name, team, status, secondary, failure_reason, created_ms, CASE WHEN announced_ms <> 0 THEN announced_ms ELSE created_ms END, " \
	"started_ms, ended_ms, modified_ms, generation, is_implicit, document, " JOB_STARTED_KNOWN_MS(                                           \
		"") ", " JOB_ENDED_KNOWN_MS("")

static const struct row_field fields[] = {FIELD(struct job_row, job_id), FIELD(struct job_row, name),
	FIELD(struct job_row, team), FIELD(struct job_row, status), FIELD(struct job_row, secondary),
	FIELD(struct job_row, failure_reason), FIELD(struct job_row, created_ms), FIELD(struct job_row, announced_ms),
	FIELD(struct job_row, started_ms), FIELD(struct job_row, ended_ms), FIELD(struct job_row, modified_ms),
	FIELD(struct job_row, generation), FIELD(struct job_row, is_implicit), FIELD(struct job_row, document),
	FIELD(struct job_row, started_known_ms), FIELD(struct job_row, ended_known_ms)};

static enum status run_put(struct statement *s, const struct job_row *row, struct error *err)
{
	enum status status = statement_run(s, err);

	if (statement_is_conflict(s))
		return error_set(err, ERR_CONFLICT, "there is a job '%.*s' already", SPAN_ARGS(row->name));
	return status;
}

static enum status insert(struct store_tx *tx, const struct job_row *row, struct span folded, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, store_tx_reader(tx),
		"INSERT INTO jobs (job_id, name, team, status, secondary, failure_reason, created_ms, announced_ms, started_ms,"
		" ended_ms, modified_ms, generation, is_implicit, document, started_known_ms, ended_known_ms,"
		" folded) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
		err));
	row_bind(&s, ROWS(fields, struct job_row), row);
	bind_text(&s, folded);
	TRY(run_put(&s, row, err));
	TRY(tx_note_change(tx, row->job_id, SEARCH_CHANGED_JOB | SEARCH_CHANGED_DOCUMENT, err));
	TRY(attributes_put(tx, row->job_id, row->document, err));
	return attributes_put_failure(tx, row->job_id, row->failure_reason, err);
}

static enum status has_document(struct store_tx *tx, const struct job_row *row, bool *has, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, store_tx_reader(tx), "SELECT 1 FROM jobs WHERE job_id = ? AND document = ?", err));
	bind_i64(&s, row->job_id);
	bind_text(&s, row->document);
	return statement_step(&s, has, err);
}

/* The same start or end, seen to be at another time, is no news. Behind when it became known: it is another one. */
#define IS_KNOWN(what, at)                                                                                             \
	"(" what "_ms <> 0 AND " at " <> 0 AND " at " <= " SQL_GREATER(what "_known_ms", what "_ms") ")"

static enum status update(struct store_tx *tx, const struct job_row *row, struct span folded, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	bool is_same;
	size_t changed;

	TRY(has_document(tx, row, &is_same, err));
	TRY(statement_open(&s, store_tx_reader(tx),
		"UPDATE jobs SET name = ?2, team = ?3, status = ?4, secondary = ?5, failure_reason = ?6, created_ms = ?7,"
		" announced_ms = ?8, started_ms = ?9, ended_ms = ?10, modified_ms = ?11, generation = ?12, is_implicit = ?13,"
		" document = ?14, folded = ?17,"
		" started_known_ms = CASE WHEN started_ms = ?9 OR " IS_KNOWN(
			"started", "?9") " THEN started_known_ms ELSE ?15 END,"
					 " ended_known_ms = CASE WHEN ended_ms = ?10 OR (status = ?4 AND " IS_KNOWN(
						 "ended", "?10") ")"
								 " THEN ended_known_ms ELSE ?16 END WHERE job_id = ?1",
		err));
	row_bind(&s, ROWS(fields, struct job_row), row);
	bind_text(&s, folded);
	TRY(run_put(&s, row, err));
	TRY(tx_changed_rows(tx, &changed, err));
	if (!changed)
		return error_set(err, ERR_NOT_FOUND, "there is no job '%.*s' any more", SPAN_ARGS(row->name));
	/* FailureClass is an attribute of every job that failed. */
	TRY(tx_note_change(tx, row->job_id, SEARCH_CHANGED_JOB | SEARCH_CHANGED_DOCUMENT, err));
	/* Most updates are of the status: the document, with its forty rows or so, is as it was. */
	if (!is_same)
		TRY(attributes_put(tx, row->job_id, row->document, err));
	return attributes_put_failure(tx, row->job_id, row->failure_reason, err);
}

enum status store_put_job(struct store_tx *tx, struct job_row *row, struct error *err)
{
	AUTO_DONE(buf) folded = BUF_INIT(NAME_FOLDED_MAX_BYTES);

	fold_append(&folded, row->name);
	TRY(buf_status(&folded, err));
	struct job_row put = *row;
	int64_t now_ms = clock_wall_ms(); /* within the transaction: writer_settled_ms */
	put.started_known_ms = known_from(row->started_ms, now_ms);
	put.ended_known_ms =
		row->ended_ms && row->is_end_ours ? known_at(row->ended_ms, now_ms) : known_from(row->ended_ms, now_ms);
	if (row->job_id)
		return update(tx, &put, buf_span(&folded), err);
	TRY(next_id(tx, "job", &put.job_id, err));
	TRY(insert(tx, &put, buf_span(&folded), err));
	row->job_id = put.job_id;
	return OK;
}

enum status store_insert_job(struct store_tx *tx, const struct job_row *row, struct error *err)
{
	AUTO_DONE(buf) folded = BUF_INIT(NAME_FOLDED_MAX_BYTES);

	fold_append(&folded, row->name);
	TRY(buf_status(&folded, err));
	return insert(tx, row, buf_span(&folded), err);
}

enum status store_read_job(
	struct store_reader *reader, struct arena *arena, struct span name, struct job_row *out, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	bool is_there;

	*out = (struct job_row){0};
	TRY(statement_open(&s, reader, "SELECT " JOB_COLUMNS " FROM jobs WHERE name = ?", err));
	bind_text(&s, name);
	TRY(row_read(&s, arena, ROWS(fields, struct job_row), out, &is_there, err));
	return is_there ? OK : error_set(err, ERR_NOT_FOUND, "there is no job '%.*s'", SPAN_ARGS(name));
}

enum status store_read_job_by_id(
	struct store_reader *reader, struct arena *arena, int64_t job_id, struct job_row *out, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	bool is_there;

	*out = (struct job_row){0};
	TRY(statement_open(&s, reader, "SELECT " JOB_COLUMNS " FROM jobs WHERE job_id = ?", err));
	bind_i64(&s, job_id);
	TRY(row_read(&s, arena, ROWS(fields, struct job_row), out, &is_there, err));
	return is_there ? OK : error_set(err, ERR_NOT_FOUND, "there is no job with number %lld", (long long)job_id);
}

enum status job_forget(struct store_tx *tx, int64_t job_id, struct error *err)
{
	static const char *const deletes[] = {
		/* what is not sent yet is still sent: that its incidents are over, too */
		"UPDATE deliveries SET job_id = 0 WHERE job_id = ? AND state = 0",
		"DELETE FROM deliveries WHERE job_id = ?",
		"DELETE FROM notices WHERE job_id = ?",
		"DELETE FROM incidents WHERE job_id = ?",
		"DELETE FROM summaries WHERE job_id = ?",
		"DELETE FROM rankings WHERE job_id = ?",
		"DELETE FROM job_counts WHERE job_id = ?",
		"DELETE FROM definitions WHERE job_id = ?",
		"DELETE FROM due_definitions WHERE job_id = ?",
		"DELETE FROM evaluation_marks WHERE job_id = ?",
		"DELETE FROM transitions WHERE job_id = ?",
		"DELETE FROM told WHERE job_id = ?",
		"DELETE FROM told_anew WHERE job_id = ?",
		"DELETE FROM sessions WHERE job_id = ?",
		"DELETE FROM job_events WHERE job_id = ?",
		"DELETE FROM status_messages WHERE job_id = ?",
		"DELETE FROM attributes WHERE job_id = ?",
		"DELETE FROM job_settings WHERE job_id = ?",
		"DELETE FROM job_progress WHERE job_id = ?",
		"DELETE FROM job_retention WHERE job_id = ?",
		"DELETE FROM expired_text WHERE job_id = ?",
		"DELETE FROM backfills WHERE job_id = ?",
		"DELETE FROM dead_series WHERE job_id = ?",
		"DELETE FROM commands WHERE job_id = ?",
		"DELETE FROM emergencies WHERE job_id = ?",
		"DELETE FROM log_groups WHERE job_id = ?",
		"DELETE FROM log_streams WHERE job_id = ?",
		"DELETE FROM tracked_runs WHERE job_id = ?",
		"DELETE FROM tracked_files WHERE job_id = ?",
	};

	TRY(tx_note_change(tx, job_id, SEARCH_CHANGED_JOB | SEARCH_CHANGED_DOCUMENT | SEARCH_CHANGED_METRICS, err));
	TRY(goodput_drop(tx, job_id, err));
	for (size_t i = 0; i < sizeof deletes / sizeof *deletes; i++)
		TRY(run_for_job(tx, deletes[i], job_id, err));
	return OK;
}

enum status job_bury(struct store_tx *tx, int64_t job_id, struct error *err)
{
	size_t changed;

	TRY(tx_changed_rows(tx, &changed, err));
	if (!changed)
		return error_set(err, ERR_NOT_FOUND, "there is no job with number %lld", (long long)job_id);
	return run_for_job(tx, "INSERT INTO dead_jobs (job_id) VALUES (?)", job_id, err);
}

enum status store_delete_job(struct store_tx *tx, int64_t job_id, struct error *err)
{
	TRY(fleet_forget_job(tx, job_id, err));
	TRY(goodput_set_aside(tx, job_id, err));
	TRY(job_forget(tx, job_id, err));
	TRY(run_for_job(
		tx, "DELETE FROM run_names WHERE name = (SELECT name FROM jobs WHERE job_id = ?)", job_id, err));
	/* last: while it fails half-way, the job is still found */
	TRY(run_for_job(tx, "DELETE FROM jobs WHERE job_id = ?", job_id, err));
	return job_bury(tx, job_id, err);
}

/* One table of a dead job. The rows of one statement are bounded, and so is what it writes. */
static enum status sweep_table(struct store_tx *tx, const char *sql, int64_t job_id, size_t *left, struct error *err)
{
	size_t gone;

	TRY(run_with(tx, sql, NUMBERS(job_id, *left), err));
	TRY(tx_changed_rows(tx, &gone, err));
	*left -= gone < *left ? gone : *left;
	return OK;
}

#define SWEEP(table, key)                                                                                              \
	"DELETE FROM " table " WHERE (job_id, " key ") IN (SELECT job_id, " key " FROM " table                         \
	" WHERE job_id = ?1 LIMIT ?2)"

static enum status sweep_job(struct store_tx *tx, int64_t job_id, size_t *left, struct error *err)
{
	static const char *const sweeps[] = {
		SWEEP("blocks", "stream_id, first_line"),
		SWEEP("pyramid_rows", "series_id, attempt, axis, level, position"),
		SWEEP("pyramids", "series_id"),
		SWEEP("log_filters", "stream_id, first_line"),
		SWEEP("chunks", "series_id, first_ordinal"),
		SWEEP("series", "series_id"),
		SWEEP("backfill_streams", "stream_id"),
		SWEEP("pushes", "stream_id, hash_low, hash_high"),
		SWEEP("sources", "stream_id, source"),
		SWEEP("exits", "stream_id"),
		SWEEP("command_acks", "command_id, stream"),
		SWEEP("signature_hits", "stream_id, signature, first_line"),
		SWEEP("job_checkpoints", "attempt, step"),
		SWEEP("notes", "note_id"),
		SWEEP("evaluations", "has_step, step, path, task, metric"),
		SWEEP("gpu_traces", "stream, trace"),
		SWEEP("attachment_parts", "attachment_id, part"),
		SWEEP("attachments", "attachment_id"),
		SWEEP("stream_hosts", "stream_id, number"),
		SWEEP("told_hosts", "stream_id, number"),
		SWEEP("hosts_by_hand", "stream_id"),
		SWEEP("streams", "stream_id"),
	};

	for (size_t i = 0; i < sizeof sweeps / sizeof *sweeps && *left; i++)
		TRY(sweep_table(tx, sweeps[i], job_id, left, err));
	return *left ? run_for_job(tx, "DELETE FROM dead_jobs WHERE job_id = ?", job_id, err) : OK;
}

#define SWEEP_SERIES(table, key)                                                                                       \
	"DELETE FROM " table " WHERE (job_id, series_id" key ") IN (SELECT job_id, series_id" key " FROM " table       \
	" WHERE job_id = ? AND series_id BETWEEN ? AND ? LIMIT ?)"

/* One range of series numbers; what is left of the limit says whether all of it went. */
static enum status sweep_series(struct store_tx *tx, const struct dead_series *dead, size_t *left, struct error *err)
{
	static const char *const sweeps[] = {
		/* the rows first: what has one is looked at, by those who build pyramids and those who check */
		SWEEP_SERIES("series", ""),
		SWEEP_SERIES("pyramid_rows", ", axis, attempt, level, position"),
		SWEEP_SERIES("pyramids", ""),
		SWEEP_SERIES("chunks", ", first_ordinal"),
		("DELETE FROM dead_series WHERE (job_id, first_id) IN (SELECT job_id, first_id FROM dead_series WHERE job_id = ?"
		 " AND first_id = ? AND last_id = ? LIMIT ?)"),
	};

	for (size_t i = 0; i < sizeof sweeps / sizeof *sweeps && *left; i++) {
		TRY(run_with(tx, sweeps[i], NUMBERS(dead->job_id, dead->first_id, dead->last_id, *left), err));
		size_t gone;
		TRY(tx_changed_rows(tx, &gone, err));
		*left -= gone < *left ? gone : *left;
	}
	return OK;
}

static enum status next_dead_series(
	struct store_reader *reader, int64_t now_ms, struct dead_series *out, bool *has_row, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	static const struct row_field place[] = {FIELD(struct dead_series, job_id), FIELD(struct dead_series, first_id),
		FIELD(struct dead_series, last_id)};

	TRY(statement_open(
		&s, reader, "SELECT job_id, first_id, last_id FROM dead_series WHERE not_before_ms <= ? LIMIT 1", err));
	bind_i64(&s, now_ms);
	return row_read(&s, NULL, ROWS(place, struct dead_series), out, has_row, err);
}

static enum status next_dead_job(struct store_reader *reader, int64_t *job_id, bool *has_row, struct error *err)
{
	*job_id = 0;
	TRY(read_number(reader, "SELECT job_id FROM dead_jobs LIMIT 1", NUMBERS(), job_id, err));
	*has_row = *job_id != 0;
	return OK;
}

enum status store_sweep_dead(struct store_tx *tx, int64_t now_ms, size_t limit, bool *has_more, struct error *err)
{
	size_t left = limit;
	bool has_row = true;
	struct dead_series dead;
	int64_t job_id;

	while (left && has_row) {
		TRY(next_dead_job(store_tx_reader(tx), &job_id, &has_row, err));
		if (has_row)
			TRY(sweep_job(tx, job_id, &left, err));
	}
	for (has_row = true; left && has_row;) {
		TRY(next_dead_series(store_tx_reader(tx), now_ms, &dead, &has_row, err));
		if (has_row)
			TRY(sweep_series(tx, &dead, &left, err));
	}
	*has_more = has_row;
	return OK;
}

enum status store_has_dead(struct store_reader *reader, int64_t now_ms, bool *has_dead, struct error *err)
{
	struct dead_series dead;
	int64_t job_id;

	TRY(next_dead_job(reader, &job_id, has_dead, err));
	return *has_dead ? OK : next_dead_series(reader, now_ms, &dead, has_dead, err);
}

enum status store_count_jobs(struct store_reader *reader, uint64_t *live, uint64_t *all, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	bool has_row;

	TRY(statement_open(&s, reader,
		"SELECT (SELECT count(*) FROM jobs WHERE status IN ('InProgress', 'Stopping')), (SELECT count(*) FROM jobs)",
		err));
	TRY(statement_step(&s, &has_row, err));
	uint64_t live_count = column_u64(&s);
	*all = column_u64(&s);
	*live = live_count;
	return OK;
}
