/*
 * Job: one property of all jobs, in memory, so that a condition on it is one pass over an array: a number a job, or texts,
 *      each kept about once with its folded form and its number, and for each job which of them it has.
 * Ownership: new/free. Threads: any number may read while nobody adds or removes.
 */
#pragma once

#include "store/columns/bits.h"

#include <math.h>

/* Of columns of numbers, whose values are finite: nothing is there. NAN: what is there is not a number. */
#define JOB_NUMBER_MISSING INFINITY

enum { JOB_VALUE_FOLDED = UINT32_MAX }; /* the text is its own folded form */

struct job_value {
	uint32_t at; /* in bytes; the folded form is behind the text when it is another */
	uint32_t len;
	uint32_t folded_len;
};

struct job_element {
	uint32_t job;
	uint32_t value;
};

struct job_column {
	bool has_numbers; /* else texts */
	bool is_unordered; /* all elements are in `more` */
	size_t jobs; /* numbers below this have a place in `numbers` or `first` */
	size_t job_cap;
	double *numbers;
	uint32_t *first; /* the value of the first element; 0: none */
	struct job_element *more; /* further elements, in no order but that of their job's */
	size_t more_count, more_cap;
	struct job_value *values; /* [0] is not used */
	size_t value_count, value_cap;
	double *value_numbers; /* NAN: the text is no number; NULL while none is */
	size_t number_cap;
	char *bytes;
	size_t byte_count, byte_cap;
	uint32_t *recent; /* by hash: values that were added lately */
	size_t recent_cap;
};

struct job_column *job_column_new(bool has_numbers, bool is_unordered) __attribute__((warn_unused_result));
void job_column_free(struct job_column *column);
AUTO_TYPE(job_column)
size_t job_column_bytes(const struct job_column *column); /* in memory */

/* False: out of memory, or 4 GiB of text. */
bool job_column_add_text(struct job_column *column, size_t job, struct span text) __attribute__((warn_unused_result));
bool job_column_set_number(struct job_column *column, size_t job, double number) __attribute__((warn_unused_result));
/* These have nothing from now on. */
void job_column_remove(struct job_column *column, const struct bits *jobs);

static inline struct span job_column_text(const struct job_column *column, uint32_t value)
{
	return span_of(column->bytes + column->values[value].at, column->values[value].len);
}

static inline struct span job_column_folded(const struct job_column *column, uint32_t value)
{
	const struct job_value *v = &column->values[value];

	return v->folded_len == JOB_VALUE_FOLDED ? span_of(column->bytes + v->at, v->len)
						 : span_of(column->bytes + v->at + v->len, v->folded_len);
}

/* NAN: it is none. */
static inline double job_column_text_number(const struct job_column *column, uint32_t value)
{
	return column->value_numbers ? column->value_numbers[value] : NAN;
}

static inline double job_column_number(const struct job_column *column, size_t job)
{
	return job < column->jobs ? column->numbers[job] : JOB_NUMBER_MISSING;
}

/* 0: none */
static inline uint32_t job_column_first(const struct job_column *column, size_t job)
{
	return job < column->jobs ? column->first[job] : 0;
}

/* ---- conditions: each adds to `out` those of `among` that satisfy it ---- */

/* A memo has a byte a value. */
enum job_memo { JOB_MEMO_UNKNOWN, JOB_MEMO_NO, JOB_MEMO_YES = 3 }; /* or-ed: yes wins */

/* Numbers within low..high, both included and finite. */
void job_column_add_range(
	const struct job_column *column, double low, double high, const struct bits *among, struct bits *out);
/* Any number, or NAN. */
void job_column_add_present(const struct job_column *column, bool is_nan, const struct bits *among, struct bits *out);
/* Any element whose value the memo says yes to; what it does not know, `test` is asked once. False: test said stop. */
bool job_column_add_values(const struct job_column *column, unsigned char *memo,
	enum job_memo (*test)(void *context, const struct job_column *column, uint32_t value), void *context,
	const struct bits *among, struct bits *out);
/* Fills the memo of a column of texts: numbers within low..high are a yes, all others stay as they are. */
void job_column_note_range(const struct job_column *column, double low, double high, unsigned char *memo);
/* The same for texts that are `text`, or begin with it. */
void job_column_note_text(
	const struct job_column *column, struct span text, bool is_prefix, enum job_memo as, unsigned char *memo);
/* The same for folded forms that hold `part`, not empty: one search through all of them. */
void job_column_note_part(const struct job_column *column, struct span part, unsigned char *memo);
