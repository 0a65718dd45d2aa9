/*
 * Job: the step, the total and the epoch among the tokens of a line, and progress bars. Internal to extract/.
 * Ownership: spans into the text. Threads: any. Pure.
 */
#pragma once

#include "extract/generic/generic.h"

struct counting {
	struct generic_counters found;
	int rank; /* enum counter_word of the step */
	size_t bar; /* the token of its percent; SIZE_MAX: the line has no bar */
	bool is_head; /* the step is a bare number in front: it is one when the line has values */
};

/* Marks what it takes. */
void counters_find(struct tokens *tokens, struct counting *out);
