#include "store/log_streams.h"

#include "store/sqlite/sqlite_store.h"

enum status store_put_log_stream(struct store_tx *tx, const struct log_stream_row *row, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, tx_on(tx),
		"INSERT OR REPLACE INTO log_streams (job_id, stream, suffix, created_ms, first_line) VALUES (?,?,?,?,?)",
		err));
	bind_i64(&s, row->job_id);
	bind_text(&s, row->stream);
	bind_text(&s, row->suffix);
	bind_i64(&s, row->created_ms);
	bind_u64(&s, row->first_line);
	return statement_run(&s, err);
}

enum status store_read_log_streams(struct store_reader *reader, struct arena *arena, int64_t job_id, struct span stream,
	struct log_stream_row **out, size_t *count, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	struct log_stream_row *rows = NULL;
	size_t used = 0, cap = 0;
	bool has_row;

	TRY(statement_open(&s, reader,
		"SELECT stream, suffix, created_ms, first_line FROM log_streams"
		" WHERE job_id = ?1 AND (?2 = '' OR stream = ?2) ORDER BY stream",
		err));
	bind_i64(&s, job_id);
	bind_text(&s, stream);
	TRY(statement_step(&s, &has_row, err));
	for (; has_row; used++) {
		if (!(rows = rows_grow(arena, rows, used, &cap, sizeof *rows)))
			return error_set(err, ERR_MEMORY, "out of memory");
		rows[used] = (struct log_stream_row){.job_id = job_id};
		rows[used].stream = column_span(&s, arena);
		rows[used].suffix = column_span(&s, arena);
		rows[used].created_ms = column_i64(&s);
		rows[used].first_line = column_u64(&s);
		TRY(statement_check(&s, err));
		TRY(statement_step(&s, &has_row, err));
	}
	*out = rows;
	*count = used;
	return OK;
}

enum status store_put_log_group(struct store_tx *tx, const struct log_group_row *row, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, tx_on(tx), "INSERT OR REPLACE INTO log_groups (job_id, created_ms) VALUES (?,?)", err));
	bind_i64(&s, row->job_id);
	bind_i64(&s, row->created_ms);
	return statement_run(&s, err);
}

enum status store_read_log_groups(struct store_reader *reader, struct arena *arena, struct span after, size_t limit,
	struct log_group_row **out, size_t *count, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	struct log_group_row *rows = NULL;
	size_t used = 0, cap = 0;
	bool has_row;

	TRY(statement_open(&s, reader,
		"SELECT g.job_id, j.name, g.created_ms FROM log_groups AS g JOIN jobs AS j ON j.job_id = g.job_id"
		" WHERE j.name > ?1 ORDER BY j.name LIMIT ?2",
		err));
	bind_text(&s, after);
	bind_u64(&s, limit);
	TRY(statement_step(&s, &has_row, err));
	for (; has_row; used++) {
		if (!(rows = rows_grow(arena, rows, used, &cap, sizeof *rows)))
			return error_set(err, ERR_MEMORY, "out of memory");
		rows[used] = (struct log_group_row){.job_id = column_i64(&s)};
		rows[used].name = column_span(&s, arena);
		rows[used].created_ms = column_i64(&s);
		TRY(statement_check(&s, err));
		TRY(statement_step(&s, &has_row, err));
	}
	*out = rows;
	*count = used;
	return OK;
}

enum status store_read_log_group(struct store_reader *reader, int64_t job_id, int64_t *created_ms, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	bool has_row;

	TRY(statement_open(&s, reader, "SELECT created_ms FROM log_groups WHERE job_id = ?", err));
	bind_i64(&s, job_id);
	TRY(statement_step(&s, &has_row, err));
	*created_ms = has_row ? column_i64(&s) : 0;
	return OK;
}

/* ---- jobs of the group of all ---- */

#define LOG_JOBS                                                                                                       \
	"SELECT j.job_id, j.name, coalesce(c.last_line_ms, 0) FROM jobs AS j"                                          \
	" LEFT JOIN job_counts AS c ON c.job_id = j.job_id"                                                            \
	" WHERE NOT EXISTS (SELECT 1 FROM log_groups AS g WHERE g.job_id = j.job_id)"                                  \
	" AND (?1 = '' OR (j.name >= ?1 AND substr(j.name, 1, length(?1)) = ?1))"

/* Names are the jobs' own; each asks the same parameters, so that one function binds them. */
static const char *sql_of(const struct log_job_query *query)
{
	switch (query->order) {
	case LOG_JOBS_BY_NAME:
		return LOG_JOBS " AND j.name > ?2 AND ?3 = ?3 AND ?4 = ?4 ORDER BY j.name LIMIT ?5";
	case LOG_JOBS_BY_NAME_DOWN:
		return LOG_JOBS " AND (?2 = '' OR j.name < ?2) AND ?3 = ?3 AND ?4 = ?4 ORDER BY j.name DESC LIMIT ?5";
	case LOG_JOBS_BY_LAST_LINE:
		return LOG_JOBS " AND ?2 = ?2 AND ?3 = ?3 AND ?4 = ?4 ORDER BY c.last_line_ms DESC, j.job_id LIMIT ?5";
	case LOG_JOBS_BY_ID:
		break;
	}
	return query->since_ms > 0 ? LOG_JOBS
		       " AND ?2 = ?2 AND j.job_id > ?3 AND j.job_id IN (SELECT job_id FROM jobs WHERE ended_ms = 0"
		       " UNION ALL SELECT job_id FROM jobs WHERE ended_ms >= ?4) ORDER BY j.job_id LIMIT ?5"
				   : LOG_JOBS " AND ?2 = ?2 AND j.job_id > ?3 AND ?4 = ?4 ORDER BY j.job_id LIMIT ?5";
}

enum status store_read_log_jobs(struct store_reader *reader, struct arena *arena, const struct log_job_query *query,
	struct log_job_row **out, size_t *count, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	struct log_job_row *rows = NULL;
	size_t used = 0, cap = 0;
	bool has_row;

	TRY(statement_open_once(&s, reader, span_from(sql_of(query)), err));
	bind_text(&s, query->prefix);
	bind_text(&s, query->after);
	bind_i64(&s, query->after_id);
	bind_i64(&s, query->since_ms);
	bind_u64(&s, query->limit);
	TRY(statement_step(&s, &has_row, err));
	for (; has_row; used++) {
		if (!(rows = rows_grow(arena, rows, used, &cap, sizeof *rows)))
			return error_set(err, ERR_MEMORY, "out of memory");
		rows[used] = (struct log_job_row){.job_id = column_i64(&s)};
		rows[used].name = column_span(&s, arena);
		rows[used].last_line_ms = column_i64(&s);
		TRY(statement_check(&s, err));
		TRY(statement_step(&s, &has_row, err));
	}
	*out = rows;
	*count = used;
	return OK;
}
