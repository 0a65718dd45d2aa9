#include "store/driver/rows.h"
#include "store/driver/statement.h"
#include "store/log_streams.h"

static const struct row_field stream_fields[] = {FIELD(struct log_stream_row, job_id),
	FIELD(struct log_stream_row, stream), FIELD(struct log_stream_row, suffix),
	FIELD(struct log_stream_row, created_ms), FIELD(struct log_stream_row, first_line)};

enum status store_put_log_stream(struct store_tx *tx, const struct log_stream_row *row, struct error *err)
{
	return row_put(tx,
		"INSERT INTO log_streams (job_id, stream, suffix, created_ms, first_line) VALUES (?,?,?,?,?)"
		" ON CONFLICT (job_id, stream) DO UPDATE SET suffix = excluded.suffix, created_ms = excluded.created_ms,"
		" first_line = excluded.first_line",
		ROWS(stream_fields, struct log_stream_row), row, err);
}

enum status store_read_log_streams(struct store_reader *reader, struct arena *arena, int64_t job_id, struct span stream,
	struct log_stream_row **out, size_t *count, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, reader,
		"SELECT job_id, stream, suffix, created_ms, first_line FROM log_streams"
		" WHERE job_id = ?1 AND (?2 = '' OR stream = ?2) ORDER BY stream",
		err));
	bind_i64(&s, job_id);
	bind_text(&s, stream);
	return rows_read(&s, arena, ROWS(stream_fields, struct log_stream_row), out, count, err);
}

enum status store_put_log_group(struct store_tx *tx, const struct log_group_row *row, struct error *err)
{
	return run_with(tx,
		"INSERT INTO log_groups (job_id, created_ms) VALUES (?,?)"
		" ON CONFLICT (job_id) DO UPDATE SET created_ms = excluded.created_ms",
		NUMBERS(row->job_id, row->created_ms), err);
}

enum status store_read_log_groups(struct store_reader *reader, struct arena *arena, struct span after, size_t limit,
	struct log_group_row **out, size_t *count, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	static const struct row_field fields[] = {FIELD(struct log_group_row, job_id),
		FIELD(struct log_group_row, name), FIELD(struct log_group_row, created_ms)};

	TRY(statement_open(&s, reader,
		"SELECT g.job_id, j.name, g.created_ms FROM log_groups AS g JOIN jobs AS j ON j.job_id = g.job_id"
		" WHERE j.name > ?1 ORDER BY j.name LIMIT ?2",
		err));
	bind_text(&s, after);
	bind_u64(&s, limit);
	return rows_read(&s, arena, ROWS(fields, struct log_group_row), out, count, err);
}

enum status store_read_log_group(struct store_reader *reader, int64_t job_id, int64_t *created_ms, struct error *err)
{
	*created_ms = 0;
	return read_number(
		reader, "SELECT created_ms FROM log_groups WHERE job_id = ?", NUMBERS(job_id), created_ms, err);
}

/* ---- jobs of the group of all ---- */

#define LOG_JOBS(from)                                                                                                 \
	"SELECT j.job_id, j.name, coalesce(c.last_line_ms, 0) FROM " from                                              \
	" LEFT JOIN job_counts AS c ON c.job_id = j.job_id"                                                            \
	" WHERE NOT EXISTS (SELECT 1 FROM log_groups AS g WHERE g.job_id = j.job_id)"
#define IN_NAMES " AND j.name >= ?2 AND j.name < ?3"
#define BEHIND_ID " AND j.job_id > ?2 ORDER BY j.job_id LIMIT ?1"

static const char after_all[] = "\U0010ffff"; /* no name of a job begins so */

/* Names from low on, below high. A control character is in none: it comes before all that begins with the one behind it. */
static enum status name_range(const struct log_job_query *query, struct buf *low, struct buf *high, struct error *err)
{
	bool is_down = query->order == LOG_JOBS_BY_NAME_DOWN;

	buf_append_span(low, query->prefix);
	if (!is_down && query->after.len && span_compare(query->after, query->prefix) >= 0) {
		buf_reset(low);
		buf_append_span(low, query->after);
		buf_append_char(low, 1);
	}
	buf_append_span(high, query->prefix);
	buf_append_text(high, after_all);
	if (is_down && query->after.len && span_compare(query->after, buf_span(high)) < 0) {
		buf_reset(high);
		buf_append_span(high, query->after);
	}
	TRY(buf_status(low, err));
	return buf_status(high, err);
}

static enum status open_log_jobs(
	struct statement *s, struct store_reader *reader, const struct log_job_query *query, struct error *err)
{
	switch (query->order) {
	case LOG_JOBS_BY_NAME:
		return statement_open(s, reader, LOG_JOBS("jobs AS j") IN_NAMES " ORDER BY j.name LIMIT ?1", err);
	case LOG_JOBS_BY_NAME_DOWN:
		return statement_open(s, reader, LOG_JOBS("jobs AS j") IN_NAMES " ORDER BY j.name DESC LIMIT ?1", err);
	case LOG_JOBS_RUNNING:
		return statement_open(
			s, reader, LOG_JOBS("jobs AS j") " AND j.ended_ms = 0 ORDER BY j.job_id DESC LIMIT ?1", err);
	case LOG_JOBS_ENDED:
		return statement_open(s, reader,
			LOG_JOBS("jobs AS j") " AND j.ended_ms > 0 ORDER BY j.ended_ms DESC, j.job_id DESC LIMIT ?1",
			err);
	case LOG_JOBS_BY_ID:
		break;
	}
	if (query->prefix.len) /* by the names, then in order of their numbers: prepared for this use */
		return statement_open_once(s, reader,
			SPAN(LOG_JOBS("jobs AS j") IN_NAMES " AND +j.job_id > ?4 ORDER BY j.job_id LIMIT ?1"), err);
	if (query->since_ms > 0)
		return statement_open(s, reader,
			LOG_JOBS("jobs AS j") " AND j.job_id IN (SELECT job_id FROM jobs WHERE ended_ms = 0 UNION ALL"
					      " SELECT job_id FROM jobs WHERE ended_ms >= ?3)" BEHIND_ID,
			err);
	return statement_open(s, reader, LOG_JOBS("jobs AS j") BEHIND_ID, err);
}

static bool has_range(const struct log_job_query *query)
{
	return query->order == LOG_JOBS_BY_NAME || query->order == LOG_JOBS_BY_NAME_DOWN ||
	       (query->order == LOG_JOBS_BY_ID && query->prefix.len);
}

static void bind_log_jobs(
	struct statement *s, const struct log_job_query *query, const struct buf *low, const struct buf *high)
{
	bind_u64(s, query->limit);
	if (has_range(query)) {
		bind_text(s, low->len ? buf_span(low) : SPAN(""));
		bind_text(s, buf_span(high));
	}
	if (query->order == LOG_JOBS_BY_ID)
		bind_i64(s, query->after_id);
	if (query->order == LOG_JOBS_BY_ID && !query->prefix.len && query->since_ms > 0)
		bind_i64(s, query->since_ms);
}

enum status store_read_log_jobs(struct store_reader *reader, struct arena *arena, const struct log_job_query *query,
	struct log_job_row **out, size_t *count, struct error *err)
{
	AUTO_DONE(buf) low = BUF_INIT(1024), high = BUF_INIT(1024);
	AUTO_DONE(statement) s = {0};
	static const struct row_field fields[] = {FIELD(struct log_job_row, job_id), FIELD(struct log_job_row, name),
		FIELD(struct log_job_row, last_line_ms)};

	TRY(name_range(query, &low, &high, err));
	TRY(open_log_jobs(&s, reader, query, err));
	bind_log_jobs(&s, query, &low, &high);
	return rows_read(&s, arena, ROWS(fields, struct log_job_row), out, count, err);
}
