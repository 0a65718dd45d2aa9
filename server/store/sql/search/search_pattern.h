/*
 * Job: what is wrong with a term, and the regular expression of one. Ownership: the caller's. Threads: values.
 */
#pragma once

#include "base/error.h"
#include "model/query.h"

struct regex;
struct regex_scratch;

/* ERR_SEMANTIC at the term. */
enum status search_mistake(struct error *err, const struct query_term *term, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* The pattern of a term with ~, and what to match it with. ERR_SEMANTIC at the term. */
enum status search_pattern_new(struct regex **regex, struct regex_scratch **scratch, const struct query_term *term,
	struct error *err) MUST_CHECK;
enum status search_pattern_gave_up(const struct query_term *term, struct error *err);

static inline bool search_is_negated(const struct query_term *term)
{
	return term->compare == QUERY_NOT_EQUAL || term->compare == QUERY_MATCHES_NOT;
}

static inline bool search_is_pattern(const struct query_term *term)
{
	return term->compare == QUERY_MATCHES || term->compare == QUERY_MATCHES_FOLDED ||
	       term->compare == QUERY_MATCHES_NOT;
}
