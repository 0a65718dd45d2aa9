/*
 * Job: conditions that only C can judge, for a database that cannot ask us of a row while it searches: their rows are read, and the
 *      jobs that they find are a set (search_add_set). Ownership and threads: as search_sql.h.
 */
#pragma once

#include "store/sql/search/search_sql.h"

/* Must the term be judged so? */
bool search_is_judged(const struct search_sql *sql, const struct query_term *term);
/* For the rows, which begin with job_id: SQL of its own, searched for with the same time and answers. */
struct search_sql search_rows_for(const struct search_sql *sql);
/* Of `AND`: those of the job that the column is of, while it may matter. */
void search_add_among(struct search_sql *rows, const struct search_sql *sql, const char *job_id);
/*
 * Adds "is the job one of whose rows `holds` is true?". It reads the columns behind job_id. ERR_UNAVAILABLE: they took longer than they may;
 * ERR_SEMANTIC: as search_sql_check.
 */
enum status search_add_judged(struct search_sql *sql, struct search_sql *rows,
	bool (*holds)(void *context, struct statement *row), void *context, struct error *err) MUST_CHECK;
/* The same for rows of a text (or NULL) and the pattern of the term. */
enum status search_add_judged_match(
	struct search_sql *sql, struct search_sql *rows, const struct query_term *term, struct error *err) MUST_CHECK;
