#include "state/watchers/clock_skew.h"

#include <string.h>

void clock_skew_see(struct clock_skew *skew, int64_t log_ms, int64_t arrival_ms)
{
	if (log_ms > arrival_ms + SKEW_MOST_MS || log_ms < arrival_ms - SKEW_MOST_MS)
		return;
	skew->samples[skew->count++ % SKEW_SAMPLES] = log_ms - arrival_ms;
}

bool clock_skew_ms(const struct clock_skew *skew, int64_t *ms)
{
	size_t count = skew->count < SKEW_SAMPLES ? skew->count : SKEW_SAMPLES;
	int64_t sorted[SKEW_SAMPLES];

	if (count < SKEW_SAMPLES_LEAST)
		return false;
	for (size_t i = 0; i < count; i++) {
		size_t at = i;
		for (; at > 0 && sorted[at - 1] > skew->samples[i]; at--)
			sorted[at] = sorted[at - 1];
		sorted[at] = skew->samples[i];
	}
	if (sorted[count - 1 - count / 4] - sorted[count / 4] > SKEW_SPREAD_MS)
		return false;
	*ms = sorted[count / 2];
	return true;
}
