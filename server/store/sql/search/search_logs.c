/*
 * Terms on what a job's log holds: job_log(term, job_id) asks log_answers, which know as much as was looked up. What was not is
 * taken as it helps the job, or as it does not (log_answers.assumes): where both come to the same, nobody needs to look.
 */
#include "store/sql/search/search_compile.h"

#define LOG_TYPE "smfleet log"

struct search_log {
	const struct log_answers *logs;
	const struct query_term *term;
	bool fallback;
};

bool search_is_log(const struct query_term *term)
{
	return term->family == QUERY_PROPERTY && span_equal(term->key, SPAN("log"));
}

enum status search_add_log(struct search_sql *sql, const struct query_term *term, struct error *err)
{
	bool is_negated = search_is_negated(term);

	if (term->compare == QUERY_EXISTS) {
		search_add(sql, "EXISTS (SELECT 1 FROM job_counts AS c WHERE c.job_id = j.job_id AND c.lines > 0)");
		return OK;
	}
	if (term->compare >= QUERY_LESS && term->compare <= QUERY_AT_LEAST)
		return search_mistake(err, term, "log takes ':', '=', '~', '~*', '!=', '!~', in and exists");
	if (!sql->logs)
		return search_mistake(err, term,
			"logs are looked through by GET /api/v1/jobs, /api/v1/aggregate and sm-search, not here");
	struct search_log *log = arena_alloc(sql->arena, sizeof *log);
	if (!log)
		return error_no_memory(err);
	*log = (struct search_log){
		.logs = sql->logs, .term = term, .fallback = sql->logs->assumes != (sql->is_negated != is_negated)};
	sql->needs_functions = true;
	search_add(sql, is_negated ? "NOT " : "");
	search_add_value(sql, "job_log(?, j.job_id)", (struct search_value){.kind = SEARCH_LOG, .log = log});
	return OK;
}

int search_bind_log(sqlite3_stmt *statement, int parameter, struct search_log *log)
{
	return sqlite3_bind_pointer(statement, parameter, log, LOG_TYPE, NULL);
}

void search_job_log(sqlite3_context *context, int count, sqlite3_value **arguments)
{
	const struct search_log *log = sqlite3_value_pointer(arguments[0], LOG_TYPE);

	(void)count;
	enum log_answer answer =
		log ? log->logs->look(log->logs->context, log->term, sqlite3_value_int64(arguments[1])) : LOG_NO;
	sqlite3_result_int(context, answer == LOG_NOT_LOOKED ? log->fallback : answer == LOG_YES);
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
