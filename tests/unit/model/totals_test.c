#include "model/metrics/batch.h"
#include "model/jobs/totals.h"
#include "test.h"

#include <math.h>

static double read_next(struct totals *last, int64_t start_ms, int64_t ts_ms, double sum, double count)
{
	struct totals now = {true, start_ms, ts_ms, sum, count};
	double mean = -1;

	return totals_read(last, &now, &mean) ? mean : -1;
}

TEST(the_first_reading_counts_from_a_start_that_is_known)
{
	struct totals known = {0}, unknown = {0}, own = {0};

	CHECK(read_next(&known, 1000, 2000, 9, 3) == 3);
	CHECK(read_next(&unknown, NO_TIME, 2000, 9, 3) == -1);
	CHECK(read_next(&own, 2000, 2000, 9, 3) == -1);
	CHECK(read_next(&known, 1000, 3000, 10, 4) == 1);
	CHECK(read_next(&unknown, NO_TIME, 3000, 10, 4) == 1);
	CHECK(read_next(&own, 2000, 3000, 10, 4) == 1);
}

TEST(a_later_start_or_a_lower_count_begins_anew)
{
	struct totals last = {0};

	CHECK(read_next(&last, 1000, 2000, 8, 2) == 4);
	CHECK(read_next(&last, 2500, 3000, 30, 3) == 10); /* more than before, and none of it is */
	CHECK(read_next(&last, 2500, 4000, 6, 2) == 3);
	CHECK(read_next(&last, 4500, 4500, 8, 3) == 2); /* who collects began anew, who observes did not */
	CHECK(read_next(&last, 4500, 5000, 9, 4) == 1);
}

TEST(what_is_older_or_no_number_changes_nothing)
{
	struct totals last = {0};

	CHECK(read_next(&last, NO_TIME, 2000, 8, 2) == -1);
	CHECK(read_next(&last, NO_TIME, 4000, 20, 4) == 6);
	CHECK(read_next(&last, NO_TIME, 3000, 14, 3) == -1);
	CHECK(read_next(&last, NO_TIME, 4000, 20, 4) == -1);
	CHECK(read_next(&last, NO_TIME, 5000, 21, 5) == 1);
	CHECK(isnan(read_next(&last, NO_TIME, 6000, NAN, 6)));
	CHECK(read_next(&last, NO_TIME, 7000, NAN, 7) == -1);
	CHECK(read_next(&last, NO_TIME, 8000, 5, 1) == 5);
	CHECK(read_next(&last, NO_TIME, 8000, 5, NAN) == -1);
}
