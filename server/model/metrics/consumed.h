/*
 * Job: which metrics count what of the training data was consumed so far, by the names that trainers give them.
 * Ownership: none. Threads: any.
 */
#pragma once

#include "base/span.h"

enum consumed {
	CONSUMED_NOTHING,
	CONSUMED_TOKENS,
	CONSUMED_SAMPLES,
	CONSUMED_PLACE, /* in the data, of no known unit */
	CONSUMED_TOKENS_MAYBE /* so far, or in a step: it is a count of all only where it rises to its end */
};

/* By the last part of its name: CONSUMED_TOKENS of train/num_input_tokens_seen. */
enum consumed consumed_of(struct span metric);
