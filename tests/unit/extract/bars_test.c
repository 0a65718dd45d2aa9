#include "helper.h"

#include "extract/line/bars.h"

TEST(a_smaller_bar_is_that_of_an_evaluation)
{
	struct bars bars = {0};

	CHECK(!bars_is_side(&bars, 1, 100));
	CHECK(bars_is_side(&bars, 1, 10));
	CHECK(bars_is_side(&bars, 10, 10));
	CHECK(!bars_is_side(&bars, 2, 100));
}

/* A check of two batches comes before the training. */
TEST(a_larger_bar_behind_a_full_one_is_the_training_s)
{
	struct bars bars = {0};

	CHECK(!bars_is_side(&bars, 2, 2));
	CHECK(!bars_is_side(&bars, 0, 100));
	CHECK(bars_is_side(&bars, 1, 2));
}

TEST(a_larger_bar_that_is_full_at_once_is_beside_the_training)
{
	struct bars bars = {0};

	CHECK(!bars_is_side(&bars, 7, 100));
	for (int i = 0; i < 10; i++)
		CHECK(bars_is_side(&bars, 500, 500));
	CHECK(!bars_is_side(&bars, 8, 100));
}

/* Its third line says that it goes on, unless the other one does. */
TEST(a_larger_bar_in_the_middle_must_come_three_times)
{
	struct bars bars = {0};

	CHECK(!bars_is_side(&bars, 7, 100));
	CHECK(bars_is_side(&bars, 1, 500));
	CHECK(bars_is_side(&bars, 1, 500)); /* the same line, asked about again */
	CHECK(bars_is_side(&bars, 2, 500));
	CHECK(!bars_is_side(&bars, 8, 100));
	CHECK(bars_is_side(&bars, 3, 500));
	CHECK(bars_is_side(&bars, 4, 500));
	CHECK(!bars_is_side(&bars, 5, 500));
	CHECK(bars_is_side(&bars, 9, 100));
}
