/*
 * Job: what the names of a query mean: families, properties, roles, aggregates; and what their values are.
 * Ownership: spans are borrowed. Threads: values.
 */
#pragma once

#include "base/text/zone.h"
#include "query/lexer.h"

struct name {
	size_t at;
	struct span bare; /* all of it, or what is before the quotes */
	struct span quoted; /* ptr NULL: none */
	struct span suffix; /* behind the quotes */
};
/* A name as it is written, whether or not somebody knows it. */
enum status name_take(struct lexer *lexer, struct name *name) MUST_CHECK;
/* name_resolve or name_resolve_quoted, as it is written. */
enum status name_resolve_any(const struct lexer *lexer, const struct name *name, struct query_term *term) MUST_CHECK;

/* family, key, is_role and aggregate of *term from a name without quotes. ERR_SEMANTIC: nobody's name. */
enum status name_resolve(const struct lexer *lexer, size_t at, struct span name, struct query_term *term) MUST_CHECK;
/* The same of FAMILY."key" and what follows the quotes, ".min" or nothing. family is "" for a metric. */
enum status name_resolve_quoted(const struct lexer *lexer, size_t at, struct span family, struct span key,
	struct span suffix, struct query_term *term) MUST_CHECK;

/* ERR_SEMANTIC: the term's key has no such comparison. */
enum status value_check_operator(const struct lexer *lexer, size_t at, const struct query_term *term) MUST_CHECK;
enum status value_resolve(const struct lexer *lexer, const struct query_term *term, const struct lexed_text *lexed,
	int64_t now_ms, const struct zone *zone, struct query_value *out) MUST_CHECK;
/* Could the bare word be read as something else than text in some place? Then it is printed in quotes. */
bool value_is_plain_text(struct span text);
