/*
 * Job: which of the streams of a job is slower than the others. Pure.
 * Ownership: the caller's. Threads: any.
 *
 * Of four streams or more: the slowest, when it is behind the median by more than a twentieth and by 6 robust standard
 * deviations of the streams, which are at least half a per cent. In a simulation of 64 ranks with 3 % of noise
 * this finds one that is 10 % slow where a bar of 0.75 of the best needs 40 %. Ranks that wait for each other in every step
 * have the same step time: there is nothing to see then.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum { STRAGGLER_STREAMS_MIN = 4 };

struct straggler {
	size_t slowest;
	double rate;
	double usual; /* the median */
	double spread;
	double score;
	bool is_slow;
};

/* rates: steps, tokens … a unit of time; positive. scratch: room for as many. */
struct straggler straggler_find(const double *rates, double *scratch, size_t count);
/* As said above, of figures that are filled in. */
bool straggler_is_slow(const struct straggler *found);
/* One that was slow is no more. */
bool straggler_has_caught_up(double rate, double usual);
