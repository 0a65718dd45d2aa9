#include "detect/rhythm.h"
#include "test.h"

static void hear(struct rhythm *rhythm, int64_t gap_ms, int count)
{
	for (int i = 0; i < count; i++)
		rhythm_hear(rhythm, (rhythm->last_ms ? rhythm->last_ms : 1) + gap_ms);
}

TEST(a_limit_needs_twenty_gaps_over_the_floor)
{
	struct rhythm r = {0};

	hear(&r, 1000, 20);
	CHECK(rhythm_limit_ms(&r, 10000) == INT64_MAX);
	hear(&r, 1000, 1);
	CHECK_INT(rhythm_limit_ms(&r, 20000), 20000);
	CHECK(rhythm_limit_ms(&r, 20001) == INT64_MAX);
}

TEST(the_limit_is_the_floor_or_twenty_gaps_or_twice_the_longest)
{
	struct rhythm r = {0};

	hear(&r, 1000, 1000);
	CHECK_INT(rhythm_limit_ms(&r, 120000), 120000);
	int64_t typical = rhythm_limit_ms(&r, 1);
	CHECK(typical > 18000 && typical < 22000);
	hear(&r, 77000, 1); /* an evaluation */
	CHECK_INT(rhythm_limit_ms(&r, 120000), 154000);
	hear(&r, 1000, 700);
	CHECK_INT(rhythm_limit_ms(&r, 120000), 120000);
	hear(&r, 0, 10);
	hear(&r, 1000, 200);
	CHECK(rhythm_limit_ms(&r, 1) > 15000);
}

TEST(one_long_gap_at_the_start_is_no_rhythm)
{
	struct rhythm r = {0};

	hear(&r, 600000, 2); /* compilation */
	hear(&r, 1000, 60);
	int64_t limit_ms = rhythm_limit_ms(&r, 1000);
	CHECK(limit_ms > 1000000 && limit_ms < 1200000); /* twice the longest of late */
	hear(&r, 1000, 4000);
	CHECK(rhythm_limit_ms(&r, 1000) < 40000);
}
