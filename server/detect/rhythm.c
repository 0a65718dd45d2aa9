#include "detect/rhythm.h"

#include <math.h>

enum { GAPS_MIN = 20, EVALUATION = 20, EARLY_GAPS = 32 };

void rhythm_hear(struct rhythm *rhythm, int64_t now_ms)
{
	if (!rhythm->first_ms) {
		rhythm->first_ms = rhythm->last_ms = now_ms;
		return;
	}
	double gap_ms = fmax(1, (double)(now_ms - rhythm->last_ms));
	double step = rhythm->gaps < EARLY_GAPS ? 1.3 : 1.05;

	if (!rhythm->gaps)
		rhythm->typical_ms = gap_ms;
	else
		rhythm->typical_ms *= gap_ms > rhythm->typical_ms ? step : 1 / step;
	rhythm->longest_ms = fmax(gap_ms, rhythm->longest_ms * (1 - 1.0 / 1024));
	rhythm->gaps += rhythm->gaps < UINT32_MAX;
	rhythm->last_ms = now_ms;
}

int64_t rhythm_limit_ms(const struct rhythm *rhythm, int64_t floor_ms)
{
	if (rhythm->gaps < GAPS_MIN || rhythm->last_ms - rhythm->first_ms < floor_ms)
		return INT64_MAX;
	double limit_ms = fmax(EVALUATION * rhythm->typical_ms, 2 * rhythm->longest_ms);
	return (int64_t)fmax((double)floor_ms, fmin(limit_ms, 1e15));
}
