/*
 * Job: a value of `jobs AS j`, or of a row beside it, compared with those of a term. Ownership and threads: as search_sql.h.
 */
#pragma once

#include "model/query.h"
#include "store/sql/search/search_sql.h"

/* A value to compare: how its text is reached, and how it behaves. */
struct search_operand {
	const char *text; /* SQL of the text as it is; NULL: none */
	const char *folded; /* of the lower-cased text; NULL: ASCII alone is folded */
	const char *number; /* of the number; NULL: numbers compare as text */
	bool ignores_case; /* words like Failed */
};

/* Appends a condition that is positive: any of the values. ERR_SEMANTIC at the term. */
enum status search_add_comparisons(struct search_sql *sql, const struct search_operand *operand,
	const struct query_term *term, struct error *err) MUST_CHECK;
