/*
 * Job: a query's tree as SQL. Ownership and threads: as search_sql.h.
 */
#pragma once

#include "model/query.h"
#include "store/sql/search/search_sql.h"

/* Appends the condition on `jobs AS j`; "1" for no query. */
enum status search_compile(struct search_sql *sql, const struct query_node *query, struct error *err) MUST_CHECK;
