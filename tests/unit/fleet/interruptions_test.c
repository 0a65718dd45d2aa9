#include "fleet/interruptions.h"
#include "test.h"

#include <math.h>

/* Shape 1: the geometric distribution, P(n) = (1 - q) q^n with q = ahead / (exposure + ahead), P(at most n) = 1 - q^(n + 1). */
TEST(one_event_is_geometric)
{
	struct interruptions got;

	CHECK(interruptions_expect(1, 1, 1, &got)); /* q = 1/2: 0.5, 0.75, 0.875, 0.9375, 0.96875 */
	CHECK(got.expected == 1 && got.low == 0 && got.high == 4);
	CHECK(interruptions_expect(1, 1, 19.5,
		&got)); /* q = 19.5 / 20.5: 0.0488 at 0, 0.0952 at 1; 1 - q^60 = 0.9501 at 59, 0.9476 at 58 */
	CHECK(got.expected == 19.5 && got.low == 1 && got.high == 59);
}

/* Shape 2: P(n) = (n + 1) (1 - q)^2 q^n, P(at most n) = 1 - q^(n + 1) (1 + (n + 1) (1 - q)); q = 3/4 here. */
TEST(two_events_are_two_geometric_ones)
{
	struct interruptions got;
	int64_t low = 0, high = 0;

	while (1 - pow(0.75, (double)low + 1) * (1 + ((double)low + 1) * 0.25) < 0.05)
		low++;
	while (1 - pow(0.75, (double)high + 1) * (1 + ((double)high + 1) * 0.25) < 0.95)
		high++;
	CHECK(interruptions_expect(2, 10, 30, &got));
	CHECK(fabs(got.expected - 6) < 1e-12 && got.low == low && got.high == high && low == 0 && high == 16);
}

/* So much is known of the rate that a Poisson distribution of 100 is left: within 90 of 100 cases from 84 to 117. */
TEST(many_events_are_poisson)
{
	struct interruptions got;

	CHECK(interruptions_expect(1e12, 1e12, 100, &got));
	CHECK(fabs(got.expected - 100) < 1e-9 && got.low == 84 && got.high == 117);
}

TEST(what_cannot_be_said)
{
	struct interruptions got;

	CHECK(!interruptions_expect(5, 0, 7, &got));
	CHECK(!interruptions_expect(5, 1, 0, &got));
	CHECK(!interruptions_expect(0, 1, 7, &got));
	CHECK(!interruptions_expect(NAN, 1, 7, &got));
	CHECK(!interruptions_expect(5, 1, 1e9, &got)); /* more than a million */
}
