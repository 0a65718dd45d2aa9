/*
 * Job: what the files of the job search share: SQL text made of constant pieces, the values bound to it, regular expressions.
 * Ownership: a search_sql owns its text and its regexes; spans are in the caller's arena. Threads: one at a time.
 */
#pragma once

#include "store/sql/search/search_memory.h"

enum { SEARCH_MAX_SQL_BYTES = 1 << 18 };

struct regex;
struct regex_scratch;
struct search_match; /* one compiled pattern */

enum search_value_kind { SEARCH_I64, SEARCH_DOUBLE, SEARCH_TEXT, SEARCH_MATCH, SEARCH_ONE, SEARCH_SET, SEARCH_LOG };

struct search_log; /* a term that asks of logs, with who answers it */

struct search_value {
	enum search_value_kind kind;
	int64_t number;
	double real;
	struct span text;
	struct search_match *match;
	const struct query_node *one;
	const struct bits *set;
	struct search_log *log;
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
	bool is_negated; /* what is being compiled is behind an odd number of negations */
	struct search_memory *memory; /* while search_compile runs */
};

struct search_sql search_sql_on(struct store_reader *reader, struct arena *arena);
void search_sql_done(struct search_sql *sql);
AUTO_DONE_TYPE(search_sql)

/* Failures are kept and told by search_sql_open. */
void search_add(struct search_sql *sql, const char *piece); /* a literal of ours */
void search_add_value(struct search_sql *sql, const char *piece, struct search_value value);
void search_add_i64(struct search_sql *sql, const char *piece, int64_t value);
void search_add_double(struct search_sql *sql, const char *piece, double value);
void search_add_text(struct search_sql *sql, const char *piece, struct span value); /* value: not copied */
/* piece holds job_matches(?, column). */
enum status search_add_match(
	struct search_sql *sql, const char *piece, const struct query_term *term, struct error *err) MUST_CHECK;
/* piece holds job_one(?, j.document). */
void search_add_one_call(struct search_sql *sql, const char *piece, const struct query_node *one);
/* Is the job in the set? */
void search_add_set(struct search_sql *sql, const struct bits *set);
/* Appends job_log(?, j.job_id): log_answers say whether the job's log has what the term asks. */
enum status search_add_log(struct search_sql *sql, const struct query_term *term, struct error *err) MUST_CHECK;
int search_bind_log(sqlite3_stmt *statement, int parameter, struct search_log *log);
void search_job_log(sqlite3_context *context, int count, sqlite3_value **arguments);
bool search_is_log(const struct query_term *term);
/* Prepares and binds. */
enum status search_sql_open(
	struct statement *s, struct store_reader *reader, struct search_sql *sql, struct error *err) MUST_CHECK;
/* After the last row: ERR_SEMANTIC when a pattern gave up on some text, because rows may be missing then. */
enum status search_sql_check(const struct search_sql *sql, struct error *err) MUST_CHECK;

/* Appends the condition on `jobs AS j`; "1" for no query. */
enum status search_compile(struct search_sql *sql, const struct query_node *query, struct error *err) MUST_CHECK;
/* ERR_SEMANTIC at the term. */
enum status search_mistake(struct error *err, const struct query_term *term, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* The pattern of a term with ~, and what to match it with. ERR_SEMANTIC at the term. */
enum status search_pattern_new(struct regex **regex, struct regex_scratch **scratch, const struct query_term *term,
	struct error *err) MUST_CHECK;
enum status search_pattern_gave_up(const struct query_term *term, struct error *err);

/* Has an element of the list one->term.key all of one->left? */
bool search_document_has(struct span document, const struct query_node *one);

/* Makes our functions known to the connection; again and again is harmless. */
enum status search_register(struct store_reader *on);
