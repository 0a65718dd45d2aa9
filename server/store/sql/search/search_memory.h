/*
 * Job: queries, or parts of them, answered from columns in memory: a set of jobs for each term, joined as the tree says.
 * Ownership: sets are the arena's. Threads: one at a time.
 */
#pragma once

#include "model/query.h"
#include "store/sql/search/search_cache.h"

struct search_memory {
	struct store_reader *reader;
	struct arena *arena;
	struct search_cache *cache;
	bool owns_cache; /* of this search alone */
	bool is_inside; /* between enter and done */
	struct search_use *uses; /* the first: search_every_job */
	size_t use_count, use_cap;
	struct bits all;
	int64_t now_ms;
	int64_t deadline_ms; /* monotonic; 0: none */
	bool is_partial; /* cut off by it: not all that belong into the sets are there */
};

/* Does all that the tree asks for lie in memory? */
bool search_is_in_memory(const struct query_node *node, struct arena *arena);

/* Then search_memory_want for each column, search_memory_enter, sets, search_memory_done. */
struct search_memory search_memory_on(struct store_reader *reader, struct arena *arena);
enum status search_memory_want(
	struct search_memory *memory, const struct search_source *source, struct error *err) MUST_CHECK;
enum status search_memory_want_query(
	struct search_memory *memory, const struct query_node *node, struct error *err) MUST_CHECK;
/* What of it lies in memory; also of the terms in a QUERY_ONE, whose jobs are looked for among those that have them at all. */
enum status search_memory_want_parts(
	struct search_memory *memory, const struct query_node *node, struct error *err) MUST_CHECK;
enum status search_memory_enter(struct search_memory *memory, struct error *err) MUST_CHECK;
void search_memory_done(struct search_memory *memory);
AUTO_DONE_TYPE(search_memory)

const struct job_column *search_memory_column(const struct search_memory *memory, const struct search_source *source);
/* Those of `among` that satisfy the tree. ERR_SEMANTIC at a term that is wrong. */
enum status search_memory_find(struct search_memory *memory, const struct query_node *node, const struct bits *among,
	struct bits *out, struct error *err) MUST_CHECK;
bool search_memory_is_late(struct search_memory *memory);
