#include "store/attachments.h"
#include "store/driver/rows.h"
#include "store/driver/statement.h"

#define COLUMNS "job_id, attachment_id, path, content_type, bytes, sha256, created_ms, author, is_whole"

/* Parts follow each other at once: what was begun so long ago has no writer any more. */
enum { ABANDONED_MS = 10 * 60 * 1000 };

static const struct row_field fields[] = {FIELD(struct attachment_row, job_id),
	FIELD(struct attachment_row, attachment_id), FIELD(struct attachment_row, path),
	FIELD(struct attachment_row, content_type), FIELD(struct attachment_row, bytes),
	FIELD(struct attachment_row, sha256), FIELD(struct attachment_row, created_ms),
	FIELD(struct attachment_row, author), FIELD(struct attachment_row, is_whole)};

static enum status delete_abandoned(struct store_tx *tx, int64_t job_id, int64_t before_ms, struct error *err)
{
	TRY(run_with(tx,
		"DELETE FROM attachment_parts WHERE job_id = ? AND attachment_id IN (SELECT attachment_id FROM attachments"
		" WHERE job_id = ? AND is_whole = 0 AND created_ms <= ?)",
		NUMBERS(job_id, job_id, before_ms), err));
	return run_with(tx, "DELETE FROM attachments WHERE job_id = ? AND is_whole = 0 AND created_ms <= ?",
		NUMBERS(job_id, before_ms), err);
}

static enum status count_others(struct store_reader *reader, const struct attachment_row *row, uint64_t *files,
	uint64_t *bytes, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	bool has_row;

	TRY(statement_open(&s, reader,
		"SELECT count(*), CAST(coalesce(sum(bytes), 0) AS bigint) FROM attachments WHERE job_id = ?"
		" AND NOT (path = ? AND is_whole = 1)",
		err));
	bind_i64(&s, row->job_id);
	bind_text(&s, row->path);
	TRY(statement_step(&s, &has_row, err));
	*files = column_u64(&s);
	*bytes = column_u64(&s);
	return OK;
}

static enum status check_room(struct store_tx *tx, const struct attachment_row *row,
	const struct attachment_limits *limits, struct error *err)
{
	uint64_t files, bytes;

	TRY(count_others(store_tx_reader(tx), row, &files, &bytes, err));
	if (files >= limits->files)
		return error_set(err, ERR_TOO_LARGE, "the job has %llu attachments already (--max-attachments)",
			(unsigned long long)files);
	if (bytes > limits->bytes || row->bytes > limits->bytes - bytes)
		return error_set(err, ERR_TOO_LARGE,
			"with these %llu bytes the job's attachments have %llu, more than %llu (--max-job-attachment-bytes)",
			(unsigned long long)row->bytes, (unsigned long long)(bytes + row->bytes),
			(unsigned long long)limits->bytes);
	return OK;
}

static enum status put_row(struct store_tx *tx, struct attachment_row *row, bool is_whole, struct error *err)
{
	struct attachment_row put = *row;

	TRY(next_id(tx, "attachment", &put.attachment_id, err));
	put.is_whole = is_whole;
	TRY(row_put(tx, "INSERT INTO attachments (" COLUMNS ") VALUES (?,?,?,?,?,?,?,?,?)",
		ROWS(fields, struct attachment_row), &put, err));
	row->attachment_id = put.attachment_id;
	return OK;
}

enum status store_begin_attachment(
	struct store_tx *tx, struct attachment_row *row, const struct attachment_limits *limits, struct error *err)
{
	TRY(delete_abandoned(tx, row->job_id, row->created_ms - ABANDONED_MS, err));
	TRY(check_room(tx, row, limits, err));
	return put_row(tx, row, false, err);
}

enum status store_import_attachment(struct store_tx *tx, struct attachment_row *row, struct error *err)
{
	return put_row(tx, row, !row->bytes, err); /* no part of an empty one will end it */
}

static enum status check_begun(struct store_tx *tx, const struct attachment_row *row, struct error *err)
{
	int64_t count = 0;

	TRY(read_number(store_tx_reader(tx),
		"SELECT count(*) FROM attachments WHERE job_id = ? AND attachment_id = ? AND is_whole = 0",
		NUMBERS(row->job_id, row->attachment_id), &count, err));
	return count ? OK
		     : error_set(err, ERR_CONFLICT, "the attachment '%.*s' was deleted while it was written",
			       SPAN_ARGS(row->path));
}

enum status store_put_attachment_part(
	struct store_tx *tx, const struct attachment_row *row, uint64_t part, struct span packed, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(check_begun(tx, row, err));
	TRY(statement_open(&s, store_tx_reader(tx),
		"INSERT INTO attachment_parts (job_id, attachment_id, part, data) VALUES (?,?,?,?)", err));
	bind_numbers(&s, row->job_id, row->attachment_id, (int64_t)part);
	bind_blob(&s, packed);
	return statement_run(&s, err);
}

static enum status delete_one(struct store_tx *tx, int64_t job_id, int64_t attachment_id, struct error *err)
{
	TRY(run_with(tx, "DELETE FROM attachment_parts WHERE job_id = ? AND attachment_id = ?",
		NUMBERS(job_id, attachment_id), err));
	return run_with(tx, "DELETE FROM attachments WHERE job_id = ? AND attachment_id = ?",
		NUMBERS(job_id, attachment_id), err);
}

static enum status find(struct store_reader *reader, struct arena *arena, int64_t job_id, struct span path,
	struct attachment_row *out, bool *is_there, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(
		&s, reader, "SELECT " COLUMNS " FROM attachments WHERE job_id = ? AND path = ? AND is_whole = 1", err));
	bind_i64(&s, job_id);
	bind_text(&s, path);
	return row_read(&s, arena, ROWS(fields, struct attachment_row), out, is_there, err);
}

enum status store_end_attachment(struct store_tx *tx, const struct attachment_row *row, struct error *err)
{
	AUTO(arena) arena = arena_new();
	struct attachment_row before;
	bool has_before;

	if (!arena)
		return error_no_memory(err);
	TRY(check_begun(tx, row, err));
	TRY(find(store_tx_reader(tx), arena, row->job_id, row->path, &before, &has_before, err));
	if (has_before)
		TRY(delete_one(tx, before.job_id, before.attachment_id, err));
	return run_with(tx, "UPDATE attachments SET is_whole = 1 WHERE job_id = ? AND attachment_id = ?",
		NUMBERS(row->job_id, row->attachment_id), err);
}

enum status store_find_attachment(struct store_reader *reader, struct arena *arena, int64_t job_id, struct span path,
	struct attachment_row *out, struct error *err)
{
	bool is_there;

	TRY(find(reader, arena, job_id, path, out, &is_there, err));
	return is_there ? OK
			: error_set_field(err, ERR_NOT_FOUND, "path", "the job has no attachment '%.*s'",
				  (int)(path.len < 200 ? path.len : 200), path.ptr);
}

enum status store_delete_attachment(
	struct store_tx *tx, struct arena *arena, int64_t job_id, struct span path, struct error *err)
{
	struct attachment_row row;

	TRY(store_find_attachment(store_tx_reader(tx), arena, job_id, path, &row, err));
	return delete_one(tx, job_id, row.attachment_id, err);
}

enum status store_read_attachments(struct store_reader *reader, struct arena *arena, int64_t job_id, struct span after,
	size_t limit, struct attachment_row **out, size_t *count, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, reader,
		"SELECT " COLUMNS
		" FROM attachments WHERE job_id = ? AND path > ? AND is_whole = 1 ORDER BY path LIMIT ?",
		err));
	bind_i64(&s, job_id);
	bind_text(&s, after);
	bind_u64(&s, limit);
	return rows_read(&s, arena, ROWS(fields, struct attachment_row), out, count, err);
}

enum status store_next_attachments(struct store_reader *reader, struct arena *arena, int64_t job_id,
	int64_t attachment_id, size_t limit, struct attachment_row **out, size_t *count, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, reader,
		"SELECT " COLUMNS
		" FROM attachments WHERE (job_id, attachment_id) > (?,?) AND is_whole = 1 ORDER BY job_id, attachment_id LIMIT ?",
		err));
	bind_numbers(&s, job_id, attachment_id);
	bind_u64(&s, limit);
	return rows_read(&s, arena, ROWS(fields, struct attachment_row), out, count, err);
}

enum status store_read_attachment_part(struct store_reader *reader, struct arena *arena,
	const struct attachment_row *row, uint64_t part, struct span *packed, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	bool has_row;

	TRY(statement_open(&s, reader,
		"SELECT data FROM attachment_parts WHERE job_id = ? AND attachment_id = ? AND part = ?", err));
	bind_numbers(&s, row->job_id, row->attachment_id, (int64_t)part);
	TRY(statement_step(&s, &has_row, err));
	if (!has_row)
		return error_set(err, ERR_GONE, "the attachment '%.*s' was replaced or deleted while it was read",
			SPAN_ARGS(row->path));
	*packed = column_span(&s, arena);
	return statement_check(&s, err);
}
