#include "detect/straggler.h"

#include "base/median.h"

#include <math.h>

struct straggler straggler_find(const double *rates, double *scratch, size_t count)
{
	struct straggler found = {0};

	if (count < STRAGGLER_STREAMS_MIN)
		return found;
	for (size_t i = 0; i < count; i++) {
		scratch[i] = rates[i];
		found.slowest = rates[i] < rates[found.slowest] ? i : found.slowest;
	}
	found.rate = rates[found.slowest];
	found.usual = median_of(scratch, count);
	for (size_t i = 0; i < count; i++)
		scratch[i] = fabs(rates[i] - found.usual);
	found.spread = fmax(1.4826 * median_of(scratch, count), 0.005 * found.usual);
	found.score = found.spread > 0 ? (found.rate - found.usual) / found.spread : 0;
	found.is_slow = straggler_is_slow(&found);
	return found;
}

bool straggler_is_slow(const struct straggler *found)
{
	return found->score < -6 && found->rate < found->usual / 1.05;
}

bool straggler_has_caught_up(double rate, double usual)
{
	return rate > usual / 1.025;
}
