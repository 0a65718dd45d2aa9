/*
 * Job: the characters of a query: names, values, operators, keywords. What is legal where is the parser's business.
 * Ownership: unescaped strings are in the caller's arena, everything else points into the text. Threads: values.
 */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "model/query.h"

struct lexer {
	struct span text;
	size_t at; /* byte */
	struct arena *arena;
	struct error *err;
};

struct lexed_text {
	struct span text;
	bool is_quoted;
	size_t at;
};

/* ERR_SEMANTIC with the column of byte `at`: "expected EXPECTED, found 'x'". */
enum status lexer_expected(const struct lexer *lexer, size_t at, const char *expected);

void lexer_skip_blanks(struct lexer *lexer);
char lexer_peek(const struct lexer *lexer); /* 0 at the end */
bool lexer_take(struct lexer *lexer, char c);
/* A whole bare word, in any case. */
bool lexer_take_word(struct lexer *lexer, const char *word);
bool lexer_at_word(struct lexer *lexer, const char *word);
bool lexer_take_operator(struct lexer *lexer, enum query_compare *compare);

/* A run of [\w./@%+*-] and bytes past ASCII; empty when there is none. */
struct span lexer_take_bare(struct lexer *lexer);
/* "…" with \" and \\ */
enum status lexer_take_quoted(struct lexer *lexer, struct span *out) MUST_CHECK;
/* Quoted, or everything up to a space, a parenthesis, a comma or a quote: times and URIs need no quotes. */
enum status lexer_take_value(struct lexer *lexer, struct lexed_text *out) MUST_CHECK;

bool lexer_is_bare(char c);
bool lexer_is_keyword(struct span word); /* and, or, not */
