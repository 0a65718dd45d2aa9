/*
 * Job: a name and what stands in a cell beside it, as a value of the line; what counts. Internal to extract/.
 * Ownership: spans into the line, or into the result. Threads: any. Pure.
 */
#pragma once

#include "extract/generic/series.h"
#include "extract/generic/words.h"
#include "extract/line/number.h"

/* "Epoch", "training_iteration", "time/total_timesteps": of several counters in a record the greatest is its step. */
enum counter_word pair_counter(struct span name);
/* The only token of the cell, when that is a number; SIZE_MAX: it is none. */
size_t cell_find_number(const struct tokens *tokens, struct span cell);
/* No value and no step yet. */
void pair_begin(struct generic_line *out);
/* Two parts of a name with a '/' between, as a span of the result; an empty one when there is no room. */
struct span pair_join(struct generic_line *out, struct span first, struct span second);
/* False: the cell is no number, or the name none of a value. */
bool pair_add(
	struct generic_line *out, enum split split, struct span name, const struct tokens *tokens, struct span cell);
