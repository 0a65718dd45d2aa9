/*
 * Job: searches of jobs whose query also asks what their logs hold. What the database knows is asked first; only of a job for
 *      which that does not settle it is a log looked through, by the blocks that their filters do not deny, one term after the
 *      other. Jobs come in the order of the search, so that a search that is out of time ends with the jobs that it has, and a
 *      cursor behind the last one that it has looked at.
 * Ownership: new/free; rows are in the caller's arena. Threads: workers. No view of the database may be open.
 */
#pragma once

#include "read/logs/log_search.h"
#include "model/query.h"
#include "store/search.h"
#include "store/store.h"

struct pipeline;

enum { SEARCH_ROWS_MS = 5000 }; /* a view lasts so long beyond the search: to read what it found */

struct job_log_search;

struct job_log_search_options {
	struct pipeline *pipeline;
	struct store_reader *reader;
	const struct query_node *query;
	int64_t time_ms; /* for all calls together */
	struct log_asker asker;
};

/* ERR_SEMANTIC with column: a pattern that is none. */
enum status job_log_search_new(
	struct job_log_search **out, const struct job_log_search_options *options, struct error *err) MUST_CHECK;
void job_log_search_free(struct job_log_search *search);
/* Does the query ask of logs? Else store_search_jobs alone does. */
bool job_log_search_is_needed(const struct query_node *query);

/* A page, as store_search_jobs gives it. *is_partial: out of time; the page goes on behind next_cursor. */
enum status job_log_search_page(struct job_log_search *search, struct arena *arena, const struct job_search *asked,
	struct job_search_result *out, bool *is_partial, struct error *err) MUST_CHECK;
/* Looks through the logs of all jobs that must be; *total: how many match. *is_partial: of those that were looked at. */
enum status job_log_search_all(
	struct job_log_search *search, uint64_t *total, bool *is_partial, struct error *err) MUST_CHECK;
/* What is known by now, for other statements of the same query. */
const struct log_answers *job_log_search_answers(const struct job_log_search *search);

AUTO_TYPE(job_log_search)
