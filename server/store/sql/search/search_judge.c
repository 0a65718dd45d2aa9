#include "store/sql/search/search_judge.h"

#include "store/columns/bits.h"
#include "store/driver/connection.h"
#include "store/sql/search/search_pattern.h"

bool search_is_judged(const struct search_sql *sql, const struct query_term *term)
{
	return search_is_pattern(term) && !connection_has_predicates(sql->reader);
}

struct search_sql search_rows_for(const struct search_sql *sql)
{
	struct search_sql rows = search_sql_on(sql->reader, sql->arena);

	rows.logs = sql->logs;
	rows.memory = sql->memory;
	rows.now_ms = sql->now_ms;
	return rows;
}

void search_add_among(struct search_sql *rows, const struct search_sql *sql, const char *job_id)
{
	if (sql->among)
		search_add_set_of(rows, job_id, sql->among);
	else
		search_add(rows, "true");
}

static enum status read_judged(struct search_sql *rows, bool (*holds)(void *context, struct statement *row),
	void *context, struct bits *set, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	bool has_row;

	TRY(search_sql_open(&s, rows->reader, rows, err));
	for (;;) {
		TRY(statement_step(&s, &has_row, err));
		if (!has_row)
			return search_sql_check(rows, err);
		if (connection_is_late(rows->reader))
			return error_set(err, ERR_UNAVAILABLE, "the search took longer than it may");
		size_t job = (size_t)column_i64(&s);
		if (!bits_has(set, job) && job / 64 < set->count && holds(context, &s))
			bits_add(set, job);
		TRY(statement_check(&s, err));
	}
}

enum status search_add_judged(struct search_sql *sql, struct search_sql *rows,
	bool (*holds)(void *context, struct statement *row), void *context, struct error *err)
{
	struct bits *set;

	TRY(search_set_of_all(sql, &set, err));
	TRY(read_judged(rows, holds, context, set, err));
	sql->is_partial |= rows->is_partial;
	search_add_set(sql, set);
	return OK;
}

static bool matches(void *context, struct statement *row)
{
	return !column_is_null(row) && search_match_has(context, column_borrow(row));
}

enum status search_add_judged_match(
	struct search_sql *sql, struct search_sql *rows, const struct query_term *term, struct error *err)
{
	struct search_match *match;

	TRY(search_match_new(rows, term, &match, err));
	return search_add_judged(sql, rows, matches, match, err);
}
