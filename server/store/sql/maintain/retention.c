#include "store/blocks.h"
#include "store/driver/common_sql.h"
#include "store/driver/rows.h"
#include "store/driver/statement.h"
#include "store/retention.h"
#include "store/sql/logs/log_filters.h"

#include <errno.h>
#include <stdio.h>
#include <sys/statvfs.h>

/* ---- limits ---- */

enum status store_put_job_retention(
	struct store_tx *tx, int64_t job_id, const struct retention *retention, struct error *err)
{
	return run_with(tx,
		"INSERT INTO job_retention (job_id, is_pinned, max_age_ms, max_bytes) VALUES (?,?,?,?) ON CONFLICT (job_id)"
		" DO UPDATE SET is_pinned = excluded.is_pinned, max_age_ms = excluded.max_age_ms,"
		" max_bytes = excluded.max_bytes",
		NUMBERS(job_id, retention->is_pinned, retention->max_age_ms, retention->max_bytes), err);
}

enum status store_read_job_retention(
	struct store_reader *reader, int64_t job_id, struct retention *out, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	static const struct row_field fields[] = {FIELD(struct retention, is_pinned),
		FIELD(struct retention, max_age_ms), FIELD(struct retention, max_bytes)};
	bool is_there;

	*out = (struct retention){0};
	TRY(statement_open(
		&s, reader, "SELECT is_pinned, max_age_ms, max_bytes FROM job_retention WHERE job_id = ?", err));
	bind_i64(&s, job_id);
	return row_read(&s, NULL, ROWS(fields, struct retention), out, &is_there, err);
}

enum status store_put_team_retention(
	struct store_tx *tx, struct span team, const struct retention *retention, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, store_tx_reader(tx),
		"INSERT INTO team_retention (team, max_age_ms, max_bytes) VALUES (?,?,?) ON CONFLICT (team)"
		" DO UPDATE SET max_age_ms = excluded.max_age_ms, max_bytes = excluded.max_bytes",
		err));
	bind_text(&s, team);
	bind_numbers(&s, retention->max_age_ms, retention->max_bytes);
	return statement_run(&s, err);
}

enum status store_read_team_retentions(
	struct store_reader *reader, struct arena *arena, struct team_retention **out, size_t *count, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	static const struct row_field fields[] = {FIELD(struct team_retention, team),
		FIELD(struct team_retention, retention.max_age_ms), FIELD(struct team_retention, retention.max_bytes)};

	TRY(statement_open(&s, reader, "SELECT team, max_age_ms, max_bytes FROM team_retention ORDER BY team", err));
	return rows_read(&s, arena, ROWS(fields, struct team_retention), out, count, err);
}

/* ---- who goes next ---- */

enum status store_weigh_text(struct store_reader *reader, struct expendable *row, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	bool has_row;

	/* length() of a blob is in the row's head: its pages are not read */
	TRY(statement_open(&s, reader,
		"SELECT coalesce(sum(length(data)), 0), CAST(coalesce(sum(raw_bytes), 0) AS BIGINT) FROM blocks WHERE job_id = ?",
		err));
	bind_i64(&s, row->job_id);
	TRY(statement_step(&s, &has_row, err));
	row->stored_bytes = column_u64(&s);
	row->text_bytes = column_u64(&s);
	return OK;
}

/* A place in the order (ended, job) and the jobs behind it that hold text. */
#define EXPENDABLE                                                                                                     \
	"SELECT j.job_id AS job_id, j.name, j.team, j.ended_ms AS ended FROM jobs AS j"                                \
	" LEFT JOIN job_retention AS r ON r.job_id = j.job_id"                                                         \
	" WHERE (j.ended_ms, j.job_id) > (?1, ?2) AND j.ended_ms > 0 AND coalesce(r.is_pinned, 0) = 0"                 \
	" AND EXISTS (SELECT 1 FROM blocks AS b WHERE b.job_id = j.job_id)"                                            \
	" UNION ALL"                                                                                                   \
	" SELECT j.job_id, j.name, j.team, c.last_line_ms AS ended FROM job_counts AS c"                               \
	" JOIN jobs AS j ON j.job_id = c.job_id LEFT JOIN job_retention AS r ON r.job_id = j.job_id"                   \
	" WHERE c.last_line_ms < ?3 AND (c.last_line_ms, c.job_id) > (?1, ?2) AND j.ended_ms = 0"                      \
	" AND coalesce(r.is_pinned, 0) = 0 AND EXISTS (SELECT 1 FROM blocks AS b WHERE b.job_id = j.job_id)"           \
	" ORDER BY ended, job_id LIMIT ?4"

enum status store_read_expendable(struct store_reader *reader, struct arena *arena, int64_t after_ms, int64_t after_id,
	int64_t silent_before_ms, size_t limit, struct expendable **out, size_t *count, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	static const struct row_field fields[] = {FIELD(struct expendable, job_id), FIELD(struct expendable, name),
		FIELD(struct expendable, team), FIELD(struct expendable, ended_ms)};

	TRY(statement_open(&s, reader, EXPENDABLE, err));
	bind_numbers(&s, after_ms, after_id, silent_before_ms, limit);
	TRY(rows_read(&s, arena, ROWS(fields, struct expendable), out, count, err));
	for (size_t i = 0; i < *count; i++)
		TRY(store_read_job_retention(reader, (*out)[i].job_id, &(*out)[i].retention, err));
	return OK;
}

/* ---- deletion ---- */

/* The later of two deletions in a stream stands: lines go from the front, so it holds what the earlier one said, too. */
static enum status note_expired(
	struct store_tx *tx, const struct text_deletion *deletion, const struct doomed_block *block, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, store_tx_reader(tx),
		"INSERT INTO expired_text (job_id, stream_id, first_kept_line, bytes, first_ms, last_ms, deleted_ms, reason)"
		" VALUES (?,?,?,?,?,?,?,?) ON CONFLICT (job_id, stream_id) DO UPDATE SET"
		" first_kept_line = " SQL_GREATER("expired_text.first_kept_line",
			"excluded.first_kept_line") ","
						    " bytes = expired_text.bytes + excluded.bytes,"
						    " first_ms = " SQL_LESSER("expired_text.first_ms",
							    "excluded.first_ms") ","
										 " last_ms = " SQL_GREATER(
											 "expired_text.last_ms",
											 "excluded.last_ms") ","
													     " deleted_ms = excluded.deleted_ms, reason = excluded.reason",
		err));
	bind_numbers(&s, deletion->job_id, block->stream_id, block->first_line + block->line_count, block->raw_bytes,
		block->first_ms, block->last_ms, deletion->now_ms);
	bind_text(&s, deletion->reason);
	return statement_run(&s, err);
}

/* By its key and size: a job that was deleted meanwhile has lost it already, and needs no note. */
static enum status delete_block(struct store_tx *tx, const struct text_deletion *deletion,
	const struct doomed_block *block, size_t *deleted, struct error *err)
{
	struct block_row row = {
		.job_id = deletion->job_id, .stream_id = block->stream_id, .first_line = block->first_line};
	size_t changed;

	TRY(run_with(tx, "DELETE FROM blocks WHERE job_id = ? AND stream_id = ? AND first_line = ? AND line_count = ?",
		NUMBERS(row.job_id, row.stream_id, row.first_line, block->line_count), err));
	TRY(tx_changed_rows(tx, &changed, err));
	if (!changed)
		return OK;
	(*deleted)++;
	TRY(log_filter_put(tx, &row, err));
	return note_expired(tx, deletion, block, err);
}

enum status store_delete_text(
	struct store_tx *tx, const struct text_deletion *deletion, size_t *deleted, struct error *err)
{
	*deleted = 0;
	for (size_t i = 0; i < deletion->count; i++)
		TRY(delete_block(tx, deletion, &deletion->blocks[i], deleted, err));
	return OK;
}

#define DOOMED                                                                                                         \
	"SELECT stream_id, first_line, line_count, raw_bytes, first_ms, last_ms FROM blocks WHERE job_id = ?1 ORDER BY"
/* last_ms of a stream's blocks may go back; they go from its front all the same. */
#define DOOMED_BY_AGE DOOMED " max(last_ms) OVER (PARTITION BY stream_id ORDER BY first_line), stream_id, first_line"
#define DOOMED_BY_KEY DOOMED " stream_id, first_line LIMIT ?2"

static enum status read_doomed(struct store_reader *reader, struct arena *arena, int64_t job_id, const size_t *limit,
	struct doomed_block **out, size_t *count, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	static const struct row_field fields[] = {FIELD(struct doomed_block, stream_id),
		FIELD(struct doomed_block, first_line), FIELD(struct doomed_block, line_count),
		FIELD(struct doomed_block, raw_bytes), FIELD(struct doomed_block, first_ms),
		FIELD(struct doomed_block, last_ms)};

	TRY(statement_open(&s, reader, limit ? DOOMED_BY_KEY : DOOMED_BY_AGE, err));
	bind_i64(&s, job_id);
	if (limit)
		bind_u64(&s, *limit);
	return rows_read(&s, arena, ROWS(fields, struct doomed_block), out, count, err);
}

enum status store_read_doomed(struct store_reader *reader, struct arena *arena, int64_t job_id, uint64_t keep_bytes,
	size_t limit, struct doomed_block **out, size_t *count, struct error *err)
{
	struct doomed_block *rows;
	uint64_t left = 0;
	size_t found;

	TRY(read_doomed(reader, arena, job_id, keep_bytes ? NULL : &limit, &rows, &found, err));
	for (size_t i = 0; i < found; i++)
		left += rows[i].raw_bytes;
	*out = rows;
	size_t most = keep_bytes && found ? found - 1 : found; /* a limit of size leaves the newest block in any case */
	for (*count = 0; *count < most && *count < limit && (!keep_bytes || left > keep_bytes); (*count)++)
		left -= rows[*count].raw_bytes;
	return OK;
}

enum status store_read_expired(struct store_reader *reader, struct arena *arena, int64_t job_id, uint32_t stream_id,
	struct expired_text **out, size_t *count, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	static const struct row_field fields[] = {FIELD(struct expired_text, stream_id),
		FIELD(struct expired_text, first_kept_line), FIELD(struct expired_text, bytes),
		FIELD(struct expired_text, first_ms), FIELD(struct expired_text, last_ms),
		FIELD(struct expired_text, deleted_ms), FIELD(struct expired_text, reason)};

	TRY(statement_open(&s, reader,
		"SELECT stream_id, first_kept_line, bytes, first_ms, last_ms, deleted_ms, reason FROM expired_text"
		" WHERE job_id = ?1 AND (?2 = 0 OR stream_id = ?2) ORDER BY stream_id",
		err));
	bind_numbers(&s, job_id, stream_id);
	return rows_read(&s, arena, ROWS(fields, struct expired_text), out, count, err);
}
