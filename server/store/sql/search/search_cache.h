/*
 * Job: what searches keep in memory between them: columns (store/columns/job_column.h), each one property of all jobs. A column is read
 *      from an index when it is first asked for, kept up by the jobs that changed since, and dropped when others are needed more.
 * Ownership: a store has one; a pin keeps a column where it is until search_cache_leave.
 * Threads: any reader's. A column is looked at between enter and leave alone, and is at least as new as the reader's view.
 */
#pragma once

#include "store/sql/search/search_source.h"

struct job_changes;
struct search_cache;

/* changes: the store's, and outlives it. NULL: out of memory. */
struct search_cache *search_cache_new(struct job_changes *changes, size_t max_bytes)
	__attribute__((warn_unused_result));
void search_cache_free(struct search_cache *cache);
AUTO_TYPE(search_cache)

/* A column that a search looks at. */
struct search_use {
	struct search_source source;
	const struct job_column *column; /* filled in */
	struct search_slot *slot;
};

/* Reads what is missing or out of date, then keeps all of it as it is until search_cache_leave. On an error nothing is to leave. */
enum status search_cache_enter(struct search_cache *cache, struct store_reader *reader, struct search_use *uses,
	size_t count, struct error *err) MUST_CHECK;
void search_cache_leave(struct search_cache *cache, struct search_use *uses, size_t count);
size_t search_cache_bytes(struct search_cache *cache);
