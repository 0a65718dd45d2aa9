#include "state/watchers/clock_skew.h"
#include "test.h"

static const int64_t now_ms = INT64_C(1790000000000);

TEST(a_steady_clock_has_its_median)
{
	struct clock_skew skew = {0};
	int64_t ms = 0;

	for (int i = 0; i < 2; i++)
		clock_skew_see(&skew, now_ms + 7200000 + 10 * i, now_ms);
	CHECK(!clock_skew_ms(&skew, &ms));
	clock_skew_see(&skew, now_ms - 60000, now_ms); /* one late chunk */
	for (int i = 2; i < 5; i++)
		clock_skew_see(&skew, now_ms + 7200000 + 10 * i, now_ms);
	CHECK(clock_skew_ms(&skew, &ms));
	CHECK_INT(ms, 7200020);
}

TEST(a_clock_that_was_set_is_believed_after_some_samples)
{
	struct clock_skew skew = {0};
	int64_t ms = 0;

	for (int i = 0; i < SKEW_SAMPLES; i++)
		clock_skew_see(&skew, now_ms - 3600000, now_ms);
	for (int i = 0; i < SKEW_SAMPLES; i++)
		clock_skew_see(&skew, now_ms - 5, now_ms);
	CHECK(clock_skew_ms(&skew, &ms));
	CHECK_INT(ms, -5);
}

TEST(an_import_is_no_clock)
{
	struct clock_skew skew = {0};
	int64_t ms;

	for (int i = 0; i < 100; i++)
		clock_skew_see(&skew, now_ms - 36000000 + 60000 * i, now_ms);
	CHECK(!clock_skew_ms(&skew, &ms));
	skew = (struct clock_skew){0};
	for (int i = 0; i < 100; i++)
		clock_skew_see(&skew, i % 2 ? 0 : now_ms + SKEW_MOST_MS + 1, now_ms);
	CHECK_INT(skew.count, 0);
}
