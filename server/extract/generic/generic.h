/*
 * Job: reads one line that no preset knows: which step it is at, and which numbers on it have a name. By hand in one pass, for
 *      any trainer's log. Internal to extract/.
 * Ownership: spans into the text, or into the result itself. Threads: any. Pure: what a line gives depends on that line alone.
 *
 *   tokens.h     words, numbers and marks
 *   counters.h   step, total, epoch, progress bars
 *   values.h     numbers and their names
 *   series.h     which series a name and a unit mean
 *   words.h      words that say something about the numbers beside them, and units
 *   meanings.h   what a name means: which series, in which unit
 *   guess.h      whether a name is one of a metric
 *   records.h    what is said over several lines
 * match_generic.c gives what was read to slots, steps and attempts.
 */
#pragma once

#include "extract/generic/series.h"
#include "extract/line/prefix.h"

/* False at once for most lines without a value: they need no tokens. */
bool generic_may_have(struct span text);
/* Writes what is there, not all of *out; marks the tokens that it took. True: a value or a step. */
bool generic_read(struct tokens *tokens, struct generic_line *out);
/* Behind which start of the text it is read: words that may be a prefix are one when a metric's own name is left behind them. */
size_t generic_start(const struct prefix *prefix);
/* The step alone, for definitions that say none. */
void generic_find_step(struct span text, struct generic_counters *out);
