#include "store/driver/dialect.h"

#include <ctype.h>

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* Where the text or name in quotes ends that begins at `at`. A quote within is written twice: it ends one and begins the next. */
static size_t quoted_end(struct span sql, size_t at)
{
	char quote = sql.ptr[at];

	for (at++; at < sql.len && sql.ptr[at] != quote;)
		at++;
	return at < sql.len ? at + 1 : at;
}

static size_t word_end(struct span sql, size_t at)
{
	while (at < sql.len && is_word(sql.ptr[at]))
		at++;
	return at;
}

/* Behind the parameter at `at`. */
static size_t put_parameter(struct buf *out, struct span sql, size_t at, int *greatest)
{
	int number = 0;
	size_t end = at + 1;

	for (; end < sql.len && isdigit((unsigned char)sql.ptr[end]) && number < 100000; end++)
		number = number * 10 + (sql.ptr[end] - '0');
	if (end == at + 1)
		number = *greatest + 1;
	*greatest = number > *greatest ? number : *greatest;
	buf_printf(out, "$%d", number);
	return end;
}

/* What begins at `at`: a word, a name or text in quotes, or a character; a hint (INDEXED BY NAME) is all of it one. */
static size_t token_end(struct span sql, size_t at, bool *is_hint)
{
	const struct span hint = SPAN("INDEXED BY ");
	char c = sql.ptr[at];

	*is_hint = span_starts_with(span_skip(sql, at), hint);
	if (*is_hint)
		return word_end(sql, at + hint.len);
	return c == '\'' || c == '"' ? quoted_end(sql, at) : is_word(c) ? word_end(sql, at) : at + 1;
}

void dialect_postgres(struct buf *out, struct span sql, int *parameters)
{
	int greatest = 0;
	bool is_hint;

	for (size_t at = 0, end; at < sql.len; at = end) {
		if (sql.ptr[at] == '?') {
			end = put_parameter(out, sql, at, &greatest);
			continue;
		}
		end = token_end(sql, at, &is_hint);
		if (!is_hint)
			buf_append(out, sql.ptr + at, end - at);
	}
	*parameters = greatest;
}

void dialect_without_hints(struct buf *out, struct span sql)
{
	bool is_hint;

	for (size_t at = 0, end; at < sql.len; at = end) {
		end = token_end(sql, at, &is_hint);
		if (!is_hint)
			buf_append(out, sql.ptr + at, end - at);
	}
}

/* $1 becomes v1 of the arrays. */
static void put_inner(struct buf *out, struct span spelled)
{
	for (size_t at = 0, end; at < spelled.len; at = end) {
		char c = spelled.ptr[at];
		end = c == '\'' || c == '"' ? quoted_end(spelled, at) : at + 1;
		if (c == '$')
			buf_printf(out, "asked_ahead.v");
		else
			buf_append(out, spelled.ptr + at, end - at);
	}
}

/* OFFSET 0 keeps the planner from making a hash join of it, which gives rows in an order of its own. */
void dialect_postgres_many(struct buf *out, struct span spelled, int parameters)
{
	buf_printf(out, "SELECT found.*, asked_ahead.n FROM unnest(");
	for (int i = 1; i <= parameters; i++)
		buf_printf(out, "%s$%d::int8[]", i > 1 ? ", " : "", i);
	buf_printf(out, ") WITH ORDINALITY AS asked_ahead(");
	for (int i = 1; i <= parameters; i++)
		buf_printf(out, "v%d, ", i);
	buf_printf(out, "n) CROSS JOIN LATERAL (SELECT * FROM (");
	put_inner(out, spelled);
	buf_printf(out, ") AS one OFFSET 0) AS found");
}
