#include "fleet/interruptions.h"

#include <math.h>

enum { EXPECTED_MAX = 1000000 };

static const double low_share = 0.05, high_share = 0.95;

bool interruptions_expect(double shape, double exposure, double ahead, struct interruptions *out)
{
	*out = (struct interruptions){.shape = shape, .exposure = exposure, .ahead = ahead, .low = -1};
	if (!(shape > 0 && exposure > 0 && ahead > 0))
		return false;
	out->expected = shape / exposure * ahead;
	/* P(0) = (exposure / (exposure + ahead))^shape, P(n + 1) = P(n) (n + shape) / (n + 1) ahead / (exposure + ahead) */
	double log_share = -shape * log1p(ahead / exposure), step = -log1p(exposure / ahead), sum = 0;
	for (int64_t n = 0; n <= EXPECTED_MAX; n++) {
		sum += exp(log_share);
		if (out->low < 0 && sum >= low_share)
			out->low = n;
		if (sum >= high_share) {
			out->high = n;
			return true;
		}
		log_share += log(((double)n + shape) / ((double)n + 1)) + step;
	}
	return false;
}
