/*
 * Job: how long one search may go on: the wall clock, the processor time of all its threads together, and whether anybody
 *      still waits for it. Matching asks all the time, so that one search of an expression ends within moments, too.
 * Ownership: part of a search. Threads: any of the search.
 */
#pragma once

#include "read/logs/log_search.h"
#include "read/logs/search_pool.h"

#include <stdatomic.h>

struct search_effort {
	const struct log_search *search;
	int64_t until_ms; /* on the monotonic clock */
	atomic_int_fast64_t spent_ns,
		helpers_ns; /* pieces of work that are done; the second: by others than the caller */
	atomic_bool is_spent, is_over;
};

void search_effort_init(struct search_effort *effort, const struct log_search *search);
/* Around a piece of work by this hand. */
void search_effort_begin(struct search_effort *effort, struct search_hand *hand);
void search_effort_end(struct search_effort *effort, struct search_hand *hand, bool is_helper);
/* The search ends here: it had its time, or nobody waits for it. */
bool search_effort_is_at_end(const struct search_effort *effort);
