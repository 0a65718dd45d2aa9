/*
 * Job: the step, the total and the epoch among the tokens of a line, and progress bars. Internal to extract/.
 * Ownership: spans into the text. Threads: any. Pure.
 */
#pragma once

#include "extract/generic/tokens.h"

/* Which step the line is at. */
struct generic_counters {
	bool has_step; /* an epoch when nothing finer is said */
	bool has_epoch;
	bool is_epoch; /* the step is the epoch */
	bool is_bar; /* there is a progress bar */
	bool is_of_curve; /* the step is of a curve that is one object (curves.h) */
	bool is_evaluation; /* what counts on the line is an evaluation's, which belongs to the step before it */
	int64_t step; /* as printed */
	int64_t epoch;
	int64_t bar_step, bar_total; /* of a bar, which need not count the steps */
	int64_t total; /* of steps: of the run, or of the epoch when there is one; 0: not said */
	struct span where; /* the step's digits */
};

struct counting {
	struct generic_counters found;
	int rank; /* enum counter_word of the step */
	size_t bar; /* the token of its percent; SIZE_MAX: the line has no bar */
	bool is_head; /* the step is a bare number in front: it is one when the line has values */
};

/* Marks what it takes. */
void counters_find(struct tokens *tokens, struct counting *out);
