#include "base/median.h"

#include "test.h"

#include <float.h>
#include <math.h>

TEST(median_of_the_middle_one_or_two)
{
	double odd[] = {3, -1, 2}, even[] = {4, 1, 3, 2}, one[] = {7}, huge[] = {DBL_MAX, DBL_MAX};

	CHECK(median_of(odd, 3) == 2);
	CHECK(odd[0] == -1 && odd[2] == 3);
	CHECK(median_of(even, 4) == 2.5);
	CHECK(median_of(one, 1) == 7);
	CHECK(median_of(huge, 2) == DBL_MAX);
	CHECK(isnan(median_of(one, 0)));
}
