/*
 * Job: what is kept of the tables of scores in the lines of a stream; pipeline/consume/log_scores.h fills it.
 * Ownership: zeroed/free; a stream's. Threads: the stream's lock. The table is packed with the stream's state, what was found is not:
 *            it goes to the writer behind each slice.
 */
#pragma once

#include "base/arena.h"
#include "extract/evaluation_table.h"

struct score_list {
	struct arena *arena; /* of their texts; NULL: there are none */
	struct evaluation_score *items;
	size_t count, cap;
};

struct log_scores {
	struct evaluation_table table;
	struct score_list found;
};

/* Copies the texts. */
enum status score_list_add(struct score_list *list, const struct evaluation_score *score, struct error *err) MUST_CHECK;
void score_list_done(struct score_list *list);
void log_scores_free(struct log_scores *scores); /* NULL: nothing */
