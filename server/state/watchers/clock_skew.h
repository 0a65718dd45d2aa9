/*
 * Job: by how much the clock that writes a stream's log times differs from the server's: the median of log time less arrival of
 *      the newest timed lines.
 * Ownership: values. Threads: as the stream that it is in.
 *
 * An import differs too, by ever another amount; a clock is steady. So nothing is said until the samples lie close together.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SKEW_SAMPLES = 15, SKEW_SAMPLES_LEAST = 3, SKEW_SPREAD_MS = 5000 };
#define SKEW_MOST_MS INT64_C(93600000) /* 26 h: the farthest time zones lie so far apart; more is the past */

struct clock_skew {
	int64_t samples[SKEW_SAMPLES];
	size_t count; /* all that came */
};

void clock_skew_see(struct clock_skew *skew, int64_t log_ms, int64_t arrival_ms);
/* False: not known. The middle half of the samples lies within SKEW_SPREAD_MS. */
bool clock_skew_ms(const struct clock_skew *skew, int64_t *ms);
