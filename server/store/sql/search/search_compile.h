/*
 * Job: what the files that make conditions of the query's tree share. Ownership and threads: as search.h.
 */
#pragma once

#include "store/sql/search/search.h"

/* A value to compare: how its text is reached, and how it behaves. */
struct search_operand {
	const char *text; /* SQL of the text as it is; NULL: none */
	const char *folded; /* of the lower-cased text; NULL: LIKE folds ASCII itself */
	const char *number; /* of the number; NULL: numbers compare as text */
	bool ignores_case; /* words like Failed */
};

static inline bool search_is_negated(const struct query_term *term)
{
	return term->compare == QUERY_NOT_EQUAL || term->compare == QUERY_MATCHES_NOT;
}

/* ---- search_compile.c: each appends a condition on `jobs AS j` ---- */
enum status search_add_comparisons(struct search_sql *sql, const struct search_operand *operand,
	const struct query_term *term, struct error *err) MUST_CHECK; /* positive: any of the values */
enum status search_add_term(struct search_sql *sql, const struct query_term *term, struct error *err) MUST_CHECK;

/* ---- search_lists.c ---- */
enum status search_add_one(struct search_sql *sql, const struct query_node *node, struct error *err) MUST_CHECK;
/* A property of a list that is a table, SecondaryStatusTransitions.Status. */
bool search_is_row_list(const struct query_term *term);
enum status search_add_row_term(struct search_sql *sql, const struct query_term *term, struct error *err) MUST_CHECK;
