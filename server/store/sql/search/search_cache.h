/*
 * Job: what searches keep in memory between them: columns (store/columns/job_column.h), each one property of all jobs. A column is read
 *      from an index when it is first asked for, kept up by the jobs that changed since, and dropped when others are needed more.
 * Ownership: a store has one; a pin keeps a column where it is until search_cache_leave.
 * Threads: search_cache_note is the writer's and waits for nobody; the rest is any reader's. A column is looked at between
 *      enter and leave alone, and is at least as new as the reader's view.
 */
#pragma once

#include "store/sql/search/search_source.h"

struct search_cache;

struct search_cache *search_cache_new(size_t max_bytes) __attribute__((warn_unused_result)); /* NULL: out of memory */
void search_cache_free(struct search_cache *cache);
AUTO_TYPE(search_cache)
/* Since when somebody listens; 0: always. */
void search_cache_listens_since(struct search_cache *cache, int64_t since_ms);
int64_t search_cache_since_ms(const struct search_cache *cache);

/* Said before the transaction commits. A version is larger than those of transactions that committed before. */
void search_cache_note(struct search_cache *cache, int64_t version, int64_t job_id, unsigned changes);

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
