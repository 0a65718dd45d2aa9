/* Job: jobs that a query finds, in an order. Ownership and threads: as store.h. */
#pragma once

#include "model/query.h"
#include "store/jobs.h"
#include "store/store.h"

/* What a query asks of logs no row answers: who searches looks (read/search_jobs.h), as far as it must be known. */
enum log_answer { LOG_NOT_LOOKED, LOG_NO, LOG_YES };
struct log_answers {
	enum log_answer (*look)(void *context, const struct query_term *term, int64_t job_id);
	void *context;
	bool assumes; /* what was not looked up is as it must be for the job to match; else as it must not be */
};

struct job_search {
	const struct query_node *query; /* NULL: all */
	struct span sort; /* "", "name", "-created", "loss", "-metric.NAME.max" …; ERR_SEMANTIC when unknown */
	struct span cursor; /* "" or a next_cursor */
	size_t offset; /* without a cursor: so many jobs of the order are left out */
	size_t limit;
	bool wants_total;
	bool wants_cursors;
	const struct log_answers *logs; /* NULL: ERR_SEMANTIC for a query that asks of logs */
	int64_t limit_ms; /* it ends after so long, with what it has; 0: ERR_UNAVAILABLE at the reader's deadline */
};
struct job_search_result {
	struct job_row *rows;
	struct span *cursors; /* behind each row, when wanted */
	size_t count;
	struct span next_cursor; /* empty on the last page */
	uint64_t total; /* when wanted */
	bool is_partial; /* out of time: there may be more than what was found */
};
enum status store_search_jobs(struct store_reader *reader, struct arena *arena, const struct job_search *search,
	struct job_search_result *out, struct error *err) MUST_CHECK;
/* Which of these jobs satisfy the query. */
enum status store_match_jobs(struct store_reader *reader, struct arena *arena, const struct query_node *query,
	const struct log_answers *logs, const struct job_row *rows, size_t count, bool *matches,
	struct error *err) MUST_CHECK;

/* How a search is answered: its terms one by one, and the order. */
struct job_search_step {
	const struct query_node *term; /* NULL: the order */
	struct span columns; /* in memory that are looked at; "": SQL looks job by job */
	uint64_t jobs; /* that satisfy it; of the order, and without columns: 0 */
};
enum status store_explain_jobs(struct store_reader *reader, struct arena *arena, const struct job_search *search,
	struct job_search_step **steps, size_t *count, struct error *err) MUST_CHECK;
/* All jobs whose status is InProgress or Stopping, and all jobs. */
enum status store_count_jobs(struct store_reader *reader, uint64_t *live, uint64_t *all, struct error *err) MUST_CHECK;
