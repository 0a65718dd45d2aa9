/*
 * Job: what the three forms of filter patterns share: their text read from left to right, values and how a text compares with
 *      them, and what a match must hold.
 * Ownership: all of it in the arena of the pattern, but regular expressions, which the pattern frees. Threads: as filter_pattern.h.
 */
#pragma once

#include "base/arena.h"
#include "base/text/regex.h"

enum { FILTER_REGEX_MAX = 2, FILTER_DEPTH = 32, NEEDLE_TEXTS = 16 };

enum filter_op { FILTER_EQUAL, FILTER_NOT_EQUAL, FILTER_GREATER, FILTER_GREATER_EQUAL, FILTER_LESS, FILTER_LESS_EQUAL };

struct filter_value {
	struct span text; /* without quotes */
	bool is_quoted, has_wildcard, is_number;
	double number;
	const struct regex *regex; /* NULL: none */
};

/* At least one of these is in every line that matches; count 0: nothing is known. */
struct filter_needle {
	struct span texts[NEEDLE_TEXTS];
	size_t count;
};

struct filter_reader {
	struct span text; /* the pattern */
	size_t at;
	struct filter_pattern *pattern;
	unsigned depth;
};

struct filter_terms; /* filter_pattern.c */
struct filter_node; /* filter_json.c */
struct filter_fields; /* filter_fields.c */

struct filter_pattern {
	struct arena *arena;
	struct regex *regexes[FILTER_REGEX_MAX];
	size_t regex_count;
	struct filter_terms *terms; /* at most one of these three; none: all */
	struct filter_node *json;
	struct filter_fields *fields;
	struct filter_needle needle;
	struct buf search; /* the needle as text or regular expression */
	bool is_search_regex;
};

/* ---- filter_value.c ---- */
enum status filter_wrong(const struct filter_reader *r, size_t at, const char *what, struct error *err);
void filter_skip_blanks(struct filter_reader *r);
char filter_peek(const struct filter_reader *r); /* 0: the end */
bool filter_take(struct filter_reader *r, const char *text); /* if it stands here */
enum status filter_quoted(struct filter_reader *r, struct span *out, struct error *err) MUST_CHECK;
enum status filter_regex(struct filter_reader *r, const struct regex **out, struct error *err) MUST_CHECK;
enum status filter_read_op(struct filter_reader *r, enum filter_op *op, struct error *err) MUST_CHECK;
/* A text in quotes, a regular expression, or what reaches to a blank or one of `ends`. */
enum status filter_read_value(struct filter_reader *r, const char *ends, enum filter_op op, struct filter_value *out,
	struct error *err) MUST_CHECK;
/* number: of the text, when is_number. */
bool filter_compare(enum filter_op op, const struct filter_value *value, struct span text, bool is_number,
	double number, struct regex_scratch *scratch);
bool filter_regex_finds(const struct regex *regex, struct regex_scratch *scratch, struct span text);

/* What a text must hold that equals the value. */
struct filter_needle filter_needle_of(const struct filter_value *value);
struct filter_needle filter_needle_text(struct span text);
struct filter_needle filter_needle_and(
	const struct filter_needle *a, const struct filter_needle *b); /* the better one */
struct filter_needle filter_needle_or(const struct filter_needle *a, const struct filter_needle *b);

/* ---- filter_json.c, filter_fields.c: from the bracket on, up to behind the closing one ---- */
enum status filter_json_read(struct filter_reader *r, struct error *err) MUST_CHECK;
bool filter_json_matches(const struct filter_node *node, struct regex_scratch *scratch, struct span line);
enum status filter_fields_read(struct filter_reader *r, struct error *err) MUST_CHECK;
bool filter_fields_match(const struct filter_fields *fields, struct regex_scratch *scratch, struct span line);
