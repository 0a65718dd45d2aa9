#include "cli/sender/point_rows.h"
#include "test.h"

#include <math.h>

static bool has(struct point_rows *rows, int64_t step, int64_t ts_ms, double value)
{
	return point_rows_take(rows, &(struct point_key){step, ts_ms, value}, false) != NULL;
}

static void settle(struct point_row *row)
{
	row->taken++;
	row->pending--;
}

TEST(each_point_is_there_once)
{
	AUTO_DONE(point_rows) rows = {0};

	for (int i = 0; i < 2; i++)
		CHECK(point_rows_add(&rows, &(struct point_key){7, 1000, 2.5}));
	CHECK(point_rows_add(&rows, &(struct point_key){-3, 1000, (double)NAN}));
	CHECK(point_rows_add(&rows, &(struct point_key){4, 1000, -0.0}));
	point_rows_sort(&rows, NULL);
	CHECK(!has(&rows, 7, 1001, 2.5) && !has(&rows, 7, 1000, 2.25) && !has(&rows, 8, 1000, 2.5));
	CHECK(has(&rows, 7, 1000, 2.5) && has(&rows, 7, 1000, 2.5) && !has(&rows, 7, 1000, 2.5));
	CHECK(has(&rows, -3, 1000, -(double)NAN) && !has(&rows, -3, 1000, (double)NAN));
	CHECK(has(&rows, 4, 1000, 0) && !has(&rows, 4, 1000, 0));
}

TEST(an_assumed_time_is_any)
{
	AUTO_DONE(point_rows) rows = {0};
	const struct point_key key = {7, 5, 2.5};

	CHECK(point_rows_add(&rows, &(struct point_key){7, -1000, 2.5}));
	CHECK(point_rows_add(&rows, &(struct point_key){7, 1000, 2.5}));
	CHECK(point_rows_add(&rows, &(struct point_key){7, 1000, 3}));
	point_rows_sort(&rows, NULL);
	CHECK(point_rows_take(&rows, &key, true) && point_rows_take(&rows, &key, true) &&
		!point_rows_take(&rows, &key, true));
}

TEST(asked_again_what_was_taken_is_and_what_came_since_is_of_this_batch_alone)
{
	AUTO_DONE(point_rows) before = {0};
	AUTO_DONE(point_rows) after = {0};
	const struct point_key old = {1, 1000, 1}, left = {2, 1000, 1}, sent = {3, 1000, 1}, earlier = {4, 1000, 1};

	CHECK(point_rows_add(&before, &old) && point_rows_add(&before, &left));
	point_rows_sort(&before, NULL);
	struct point_row *row = point_rows_take(&before, &old, false);
	CHECK(row);
	settle(row);
	CHECK(point_rows_add(&after, &old) && point_rows_add(&after, &left) && point_rows_add(&after, &sent));
	CHECK(point_rows_add(&after, &earlier));
	point_rows_sort(&after, &before);
	CHECK(!has(&after, 1, 1000, 1));
	row = point_rows_take(&after, &sent, false);
	CHECK(row);
	settle(row);
	point_rows_drop_late(&after);
	CHECK(!has(&after, 3, 1000, 1) && !has(&after, 4, 1000, 1));
	CHECK(has(&after, 2, 1000, 1) && !has(&after, 2, 1000, 1));
}
