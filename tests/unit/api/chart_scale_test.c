#include "../test.h"
#include "chart/chart_scale.h"

#include <float.h>
#include <math.h>

static void check_even(double low, double high, size_t most, const double *want, size_t count)
{
	struct scale_ticks ticks;

	scale_ticks_even(low, high, most, &ticks);
	CHECK_INT(ticks.count, count);
	for (size_t i = 0; i < count; i++)
		CHECK(fabs(ticks.at[i] - want[i]) <= fabs(want[i]) * 1e-12);
}

TEST(even_ticks_are_round)
{
	check_even(0, 10, 5, (const double[]){0, 2, 4, 6, 8, 10}, 6);
	check_even(1.3, 9.9, 5, (const double[]){2, 4, 6, 8}, 4);
	check_even(-1, 1, 4, (const double[]){-1, -0.5, 0, 0.5, 1}, 5);
	check_even(1e307, 1.6e308, 4, (const double[]){5e307, 1e308, 1.5e308}, 3);
}

TEST(log_ticks_are_powers_and_what_lies_between)
{
	struct scale_ticks ticks;

	scale_ticks_log(0.5, 200, 6, &ticks);
	CHECK_INT(ticks.count, 3);
	CHECK_DOUBLE(ticks.at[0], 1);
	CHECK_DOUBLE(ticks.at[2], 100);
	scale_ticks_log(2.1, 2.9, 8, &ticks); /* too little for powers */
	CHECK(ticks.count >= 2 && ticks.at[0] >= 2.1 && ticks.at[ticks.count - 1] <= 2.9);
	scale_ticks_log(DBL_TRUE_MIN, DBL_MAX, 8, &ticks);
	CHECK(ticks.count >= 2 && ticks.count <= SCALE_TICKS_MAX);
}

TEST(no_range_breaks_a_scale)
{
	static const double values[] = {
		0, 1, -1, 1e-320, -1e-320, 5e-324, 1e300, 1e308, -1e308, DBL_MAX, -DBL_MAX, INFINITY, -INFINITY};
	enum { COUNT = sizeof values / sizeof *values };

	for (size_t i = 0; i < COUNT; i++)
		for (size_t k = 0; k < COUNT; k++)
			for (int is_log = 0; is_log < 2; is_log++) {
				double low = values[i], high = values[k];
				struct scale_ticks ticks;
				scale_pad(&low, &high, is_log);
				CHECK(low < high && isfinite(low) && isfinite(high));
				struct scale scale = {low, high, 300, 10, is_log};
				double px = scale_place(&scale, is_log ? high : low / 2 + high / 2);
				CHECK(isfinite(px));
				(is_log ? scale_ticks_log : scale_ticks_even)(low, high, 6, &ticks);
				CHECK(ticks.count <= SCALE_TICKS_MAX);
				for (size_t n = 0; n < ticks.count; n++)
					CHECK(isfinite(ticks.at[n]));
			}
}

static void check_value(double value, double step, const char *want)
{
	char text[SCALE_TEXT_BYTES];

	scale_text_value(value, step, text);
	CHECK_TEXT(text, want);
}

TEST(ticks_next_to_each_other_do_not_say_the_same)
{
	check_value(0, 1, "0");
	check_value(2.5, 0.5, "2.5");
	check_value(2, 0.5, "2.0");
	check_value(1940000, 2000, "1.940 M");
	check_value(1942000, 2000, "1.942 M");
	check_value(20000, 5000, "20 k");
	check_value(3e-4, 1e-4, "0.0003");
	check_value(1e-5, 0, "1e-5");
	check_value(1.5e18, 5e17, "1.5e18");
	check_value(-2.5, 0.5, "-2.5");
}

static void check_x(enum chart_axis axis, double x, double step, const char *want)
{
	char text[SCALE_TEXT_BYTES];

	scale_text_x(axis, x, step, text);
	CHECK_TEXT(text, want);
}

TEST(steps_times_and_durations)
{
	check_x(AXIS_STEP, 1234567, 1, "1,234,567");
	check_x(AXIS_STEP, -12, 1, "-12");
	check_x(AXIS_STEP, 2.5e9, 1, "2.5 G");
	check_x(AXIS_TIME, 1795284061000.0, 1000, "18:01:01");
	check_x(AXIS_TIME, 1795284060000.0, 60000, "18:01");
	check_x(AXIS_TIME, 1795219200000.0, 3600000, "11-21");
	check_x(AXIS_RELATIVE, 5400000, 1, "1 h 30 min");
	check_x(AXIS_RELATIVE, 93600000, 1, "1 d 2 h");
	check_x(AXIS_RELATIVE, -5000, 1, "-5 s");
}
