#include "detect/straggler.h"
#include "test.h"

TEST(the_slow_one_of_four_is_named)
{
	double rates[] = {100, 99.5, 80, 100.5}, scratch[4];
	struct straggler found = straggler_find(rates, scratch, 4);

	CHECK(found.is_slow);
	CHECK_INT(found.slowest, 2);
	CHECK_DOUBLE(found.rate, 80);
	CHECK_DOUBLE(found.usual, 99.75);
	CHECK(found.score < -6);
}

TEST(small_differences_noise_and_few_streams_name_nobody)
{
	double close[] = {100, 100, 96, 100}, wide[] = {100, 90, 80, 110, 120}, three[] = {100, 100, 10}, scratch[5];

	CHECK(!straggler_find(close, scratch, 4).is_slow); /* a twentieth is wanted */
	CHECK(!straggler_find(wide, scratch, 5).is_slow);
	CHECK(!straggler_find(three, scratch, 3).is_slow);
	CHECK(straggler_has_caught_up(98, 100));
	CHECK(!straggler_has_caught_up(97, 100));
}
