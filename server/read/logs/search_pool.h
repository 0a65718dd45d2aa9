/*
 * Job: threads that share the work of one search: decompressing and matching, on all cores.
 * Ownership: new/free; a hand is one thread's own tools. Threads: run from any thread, which works along.
 */
#pragma once

#include "base/text/regex.h"
#include "base/codec/zstd.h"

struct search_effort;
struct search_found;
struct search_hand {
	struct zstd *zstd;
	struct regex_scratch *scratch;
	struct buf plain;
	struct search_found *found; /* lines that match */
	size_t found_count, found_cap;
	int64_t began_ns,
		asked_ms; /* search_effort.c: of the thread's time at the present piece of work; when it last asked */
	struct search_effort *effort; /* that the piece is part of */
};
struct search_pool;

/* work for 0 .. count - 1, in any order and at the same time. Lives until it is finished. */
struct search_task {
	void (*work)(void *context, struct search_hand *hand, size_t index);
	void *context;
	size_t count;
	size_t next, done; /* the pool's */
	struct search_task *behind;
};

bool search_hand_init(struct search_hand *hand, uint32_t match_steps) __attribute__((warn_unused_result));
void search_hand_done(struct search_hand *hand);
AUTO_DONE_TYPE(search_hand)

/* threads: beside the one that calls run; 0: it does all. */
enum status search_pool_new(
	struct search_pool **out, unsigned threads, uint32_t match_steps, struct error *err) MUST_CHECK;
void search_pool_free(struct search_pool *pool);
/* The pool's threads begin with it, behind what they were given before. */
void search_pool_begin(struct search_pool *pool, struct search_task *task);
/* Works along until all of it is done; meanwhile, where others are at its last pieces, on `then`, which has begun, too (NULL: none). */
void search_pool_finish(
	struct search_pool *pool, struct search_hand *own, struct search_task *task, struct search_task *then);

AUTO_TYPE(search_pool)
