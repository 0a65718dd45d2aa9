/*
 * Job: terms on lists of a job that are tables, transitions and metrics. Ownership and threads: as search_sql.h.
 */
#pragma once

#include "model/query.h"
#include "store/sql/search/search_compare.h"

/* A property of such a list, SecondaryStatusTransitions.Status. */
bool search_is_row_list(const struct query_term *term);
enum status search_add_row_term(struct search_sql *sql, const struct query_term *term, struct error *err) MUST_CHECK;
/* The list itself. */
bool search_is_row_name(struct span list);
/* One row that satisfies all of one->left. */
enum status search_add_row_one(struct search_sql *sql, const struct query_node *one, struct error *err) MUST_CHECK;
