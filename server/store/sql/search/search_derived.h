/*
 * Job: terms and orders on what no row of a job states by itself: its warm pool, its run, its attempts, how long it is silent.
 * Ownership and threads: as search_sql.h.
 */
#pragma once

#include "model/query.h"
#include "store/sql/search/search_sql.h"

enum { SEARCH_MAX_RUN_JOBS = 10 * 1000 }; /* of all the runs that one query names */

bool search_is_derived(const struct query_term *term);
enum status search_add_derived(struct search_sql *sql, const struct query_term *term, struct error *err) MUST_CHECK;

/* SQL of a value of `jobs AS j` to sort by: NULL when `name` is none of these. Of a text '' and of a number 0 mean that there is none. */
const char *search_derived_order(struct span name, bool *is_text);
