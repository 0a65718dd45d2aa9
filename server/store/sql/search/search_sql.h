/*
 * Job: what the files of the job search share: SQL text made of constant pieces, the values bound to it, regular expressions.
 * Ownership: a search_sql owns its text and its regexes; spans are in the caller's arena. Threads: one at a time.
 */
#pragma once

#include "model/query.h"
#include "store/driver/statement.h"
#include "store/search.h"

enum { SEARCH_MAX_SQL_BYTES = 1 << 18 };

struct bits;
struct search_memory;
struct search_match; /* one compiled pattern */

enum search_value_kind { SEARCH_I64, SEARCH_DOUBLE, SEARCH_TEXT, SEARCH_MATCH, SEARCH_ONE, SEARCH_SET, SEARCH_LOG };

/* A term that asks of logs, with who answers it. */
struct search_log {
	const struct log_answers *logs;
	const struct query_term *term;
	bool fallback; /* of jobs that nobody looked at */
};

struct search_value {
	enum search_value_kind kind;
	int64_t number;
	double real;
	struct span text;
	struct search_match *match;
	const struct query_node *one;
	const struct bits *set;
	const struct search_log *log;
};

struct search_sql {
	struct buf text;
	struct arena *arena;
	struct store_reader *reader; /* looks up runs, and what lies in memory */
	struct search_value *values; /* in the order of their "?" */
	size_t count;
	size_t cap;
	struct search_match *matches; /* a list */
	bool is_out_of_memory;
	bool needs_functions; /* of ours */
	bool is_partial; /* a set that it holds was cut off by time */
	size_t run_jobs; /* bound so far */
	const struct log_answers *logs; /* NULL: nobody looks */
	int64_t now_ms; /* 0: nothing asks for it yet */
	bool is_negated; /* what is being compiled is behind an odd number of negations */
	struct search_memory *memory; /* while search_compile runs */
	const struct bits *among; /* of all other jobs the answer does not matter; NULL: it may of each */
};

struct search_sql search_sql_on(struct store_reader *reader, struct arena *arena);
void search_sql_done(struct search_sql *sql);
AUTO_DONE_TYPE(search_sql)

/* Failures are kept and told by search_sql_open. */
/* A literal of ours, in which :now is the time, the same throughout; such a piece has no value of its own. */
void search_add(struct search_sql *sql, const char *piece);
void search_add_value(struct search_sql *sql, const char *piece, struct search_value value);
void search_add_i64(struct search_sql *sql, const char *piece, int64_t value);
void search_add_double(struct search_sql *sql, const char *piece, double value);
void search_add_text(struct search_sql *sql, const char *piece, struct span value); /* value: not copied */
/* The pattern of a term with ~; the search's, until search_sql_done. */
enum status search_match_new(
	struct search_sql *sql, const struct query_term *term, struct search_match **out, struct error *err) MUST_CHECK;
bool search_match_has(struct search_match *match, struct span text);
/* piece holds job_matches(?, column). Only where the database has predicates, as the next one; else see search_judge.h. */
enum status search_add_match(
	struct search_sql *sql, const char *piece, const struct query_term *term, struct error *err) MUST_CHECK;
/* piece holds job_one(?, j.document). */
void search_add_one_call(struct search_sql *sql, const char *piece, const struct query_node *one);
/* Is the job in the set? Its number is j.job_id, or what the literal says. */
void search_add_set(struct search_sql *sql, const struct bits *set);
void search_add_set_of(struct search_sql *sql, const char *job_id, const struct bits *set);
/* Empty, with room for all jobs that there are. */
enum status search_set_of_all(const struct search_sql *sql, struct bits **set, struct error *err) MUST_CHECK;
/* Does the job's log have what the term asks? log: until the statement is done. */
enum status search_add_log_call(struct search_sql *sql, const struct search_log *log, struct error *err) MUST_CHECK;
/* Prepares and binds. */
enum status search_sql_open(
	struct statement *s, struct store_reader *reader, struct search_sql *sql, struct error *err) MUST_CHECK;
/* After the last row: ERR_SEMANTIC when a pattern gave up on some text, because rows may be missing then. */
enum status search_sql_check(const struct search_sql *sql, struct error *err) MUST_CHECK;
