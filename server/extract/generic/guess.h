/*
 * Job: whether "key: number" in a line that no preset knows is a metric. Internal to extract/.
 * Ownership: values. Threads: any.
 *
 * Chatter has the same form as a metric ("rank: 3", "port=29500", "took: 1.2"), so a key needs a reason to become a series:
 *   - a key that has a word of training in it (loss, acc, ppl, reward, tokens/s, …) on a line with a step: at once; on a
 *     line without one: from the second value on that differs;
 *   - any other key: only on lines with a step, and only once it came three times with at least two values;
 *   - a key that names a setting or a place (seed, port, rank, size, version, …): never.
 * Until then its points wait; with the reason they are all given, the first ones too.
 */
#pragma once

#include "base/span.h"

enum { GUESS_NEVER = 0, GUESS_NAME_MAX_BYTES = 48 };

/* How many points it takes; 0: never. */
unsigned guess_points_needed(struct span key, bool has_step);
