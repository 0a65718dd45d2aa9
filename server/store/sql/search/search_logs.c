/* Which of some jobs a query finds, whatever the logs say. */
#include "model/query.h"
#include "store/columns/bits.h"
#include "store/jobs.h"
#include "store/search.h"
#include "store/sql/search/search_compile.h"

static enum status set_among(struct search_sql *sql, const struct job_row *rows, size_t count, struct error *err)
{
	struct bits *among;

	TRY(search_set_of_all(sql, &among, err));
	for (size_t i = 0; i < count; i++)
		if ((size_t)rows[i].job_id / 64 < among->count)
			bits_add(among, (size_t)rows[i].job_id);
	sql->among = among;
	return OK;
}

enum status store_match_jobs(struct store_reader *reader, struct arena *arena, const struct query_node *query,
	const struct log_answers *logs, const struct job_row *rows, size_t count, bool *matches, struct error *err)
{
	AUTO_DONE(search_sql) sql = search_sql_on(reader, arena);
	AUTO_DONE(statement) s = {0};
	bool has_row;

	memset(matches, 0, count * sizeof *matches);
	sql.logs = logs;
	search_add(&sql, "SELECT j.job_id FROM jobs AS j WHERE j.job_id IN (0");
	for (size_t i = 0; i < count; i++)
		search_add_i64(&sql, ", ?", rows[i].job_id);
	search_add(&sql, ") AND ");
	TRY(set_among(&sql, rows, count, err));
	TRY(search_compile(&sql, query, err));
	if (sql.is_partial)
		return error_set(err, ERR_UNAVAILABLE, "the search takes too long: ask for less");
	TRY(search_sql_open(&s, reader, &sql, err));
	TRY(statement_step(&s, &has_row, err));
	while (has_row) {
		int64_t job_id = column_i64(&s);
		for (size_t i = 0; i < count; i++)
			matches[i] = matches[i] || rows[i].job_id == job_id;
		TRY(statement_step(&s, &has_row, err));
	}
	return search_sql_check(&sql, err);
}
