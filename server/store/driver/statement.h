/*
 * Job: what verbs ask of a database: statements with bound values, columns of rows, the writer's connection. A driver answers it (driver.h).
 * Ownership: a connection owns its statements; a struct statement is borrowed until statement_done.
 * Threads: a connection belongs to one thread at a time.
 */
#pragma once

#include "model/metrics/point.h"
#include "store/store.h"

struct statement {
	struct store_reader *on;
	void *prepared; /* the database's own */
	bool is_own; /* freed when done: its text is not a literal */
	int parameter; /* the last one bound */
	int column; /* the next one read */
	int code; /* the first failed bind or step, 0 else */
	bool is_out_of_memory; /* a column could not be copied */
};

/* Prepared once a connection and SQL literal. */
enum status statement_open(
	struct statement *out, struct store_reader *on, const char *sql, struct error *err) MUST_CHECK;
/* For SQL that is put together: prepared for this use. */
enum status statement_open_once(
	struct statement *out, struct store_reader *on, struct span sql, struct error *err) MUST_CHECK;
void statement_done(struct statement *s);
AUTO_DONE_TYPE(statement)

/* Each binds the next parameter (doubles: the next two, X and X_kind). Spans must live until the statement is done. */
void bind_i64(struct statement *s, int64_t value);
void bind_u64(struct statement *s, uint64_t value); /* by its bits: UINT64_MAX is -1 */
void bind_text(struct statement *s, struct span text);
void bind_blob(struct statement *s, struct span bytes);
void bind_null(struct statement *s);
void bind_finite(struct statement *s, double value);
void bind_double(struct statement *s, double value);
void bind_summary(struct statement *s, const struct summary *summary); /* SUMMARY_COLUMNS but the mean */
/* Several numbers, for the parameters in their order: NUMBERS(job_id, row->line), by their bits. */
struct numbers {
	const int64_t *values;
	size_t count;
};
#define NUMBERS(...)                                                                                                   \
	((struct numbers){(const int64_t[]){__VA_ARGS__}, sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t)})
void bind_all(struct statement *s, struct numbers numbers);
#define bind_numbers(s, ...) bind_all(s, NUMBERS(__VA_ARGS__))
/* For the predicate of that name (driver/connection.h), a literal. */
void bind_pointer(struct statement *s, const char *predicate, const void *pointer);

/* *has_row false: at the end. */
enum status statement_step(struct statement *s, bool *has_row, struct error *err) MUST_CHECK;
/* Steps to the end. */
enum status statement_run(struct statement *s, struct error *err) MUST_CHECK;
/* For the same SQL with other values: from the first parameter on. */
void statement_again(struct statement *s);
/* After reading a row's columns: ERR_MEMORY when one could not be copied. */
enum status statement_check(struct statement *s, struct error *err) MUST_CHECK;
/* Why the last step failed: a UNIQUE or PRIMARY KEY constraint. */
bool statement_is_conflict(const struct statement *s);
int statement_parameters(const struct statement *s);
int statement_columns(const struct statement *s); /* after the first step */

/* Each reads the next column (doubles: the next two). */
int64_t column_i64(struct statement *s);
uint64_t column_u64(struct statement *s);
uint32_t column_u32(struct statement *s);
bool column_bool(struct statement *s);
struct span column_span(struct statement *s, struct arena *arena); /* text or blob, copied */
/* Not copied: until the next step. ptr NULL: out of memory. */
struct span column_borrow(struct statement *s);
double column_finite(struct statement *s);
double column_double(struct statement *s);
void column_summary(struct statement *s, struct summary *out);

enum column_kind { COLUMN_NULL, COLUMN_INTEGER, COLUMN_REAL, COLUMN_TEXT, COLUMN_BLOB };
/* Of the next column, which stays the next. */
enum column_kind column_kind(const struct statement *s);
bool column_is_null(const struct statement *s);
const char *column_name(const struct statement *s);

#define SUMMARY_COLUMNS                                                                                                \
	"count, nan_count, inf_count, last, last_kind, min, min_kind, max, max_kind, sum, sum_kind, first_step, "      \
	"last_step, last_ts_ms"

/* Room for one more row in an array that grows in the arena; NULL: out of memory. */
void *rows_grow(struct arena *arena, void *rows, size_t count, size_t *cap, size_t row_bytes);

/* ---- of the one transaction ---- */
/* How many rows the last INSERT, UPDATE or DELETE wrote; fails where it, or what came before it, turns out to have failed. */
enum status tx_changed_rows(struct store_tx *tx, size_t *rows, struct error *err) MUST_CHECK;
/* A number that was never given before. */
enum status next_id(struct store_tx *tx, const char *counter, int64_t *id, struct error *err) MUST_CHECK;
/* sql: one statement whose parameters are the numbers, a literal */
enum status run_with(struct store_tx *tx, const char *sql, struct numbers numbers, struct error *err) MUST_CHECK;
/* The same with the job as its one parameter. */
enum status run_for_job(struct store_tx *tx, const char *sql, int64_t job_id, struct error *err) MUST_CHECK;
/* What searches keep of the job (enum search_change) is out of date with this transaction. Before or after the change itself. */
enum status tx_note_change(struct store_tx *tx, int64_t job_id, unsigned changes, struct error *err) MUST_CHECK;
