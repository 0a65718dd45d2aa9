#include "fleet/continuity.h"
#include "test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct continuity_series *new_series(void)
{
	return calloc(1, sizeof(struct continuity_series));
}

/* Steps from..to: their value, and 0.1 up and down by turns. */
static void before(struct continuity_series *series, int64_t first, int64_t from, int64_t to, double value)
{
	for (int64_t step = from; step <= to; step++)
		continuity_add_before(series, first, step, value + (step % 2 ? 0.1 : -0.1));
}

static void after(struct continuity_series *series, int64_t from, int64_t to, double value)
{
	for (int64_t step = from; step <= to; step++)
		continuity_add_after(series, step, value + (step % 2 ? 0.1 : -0.1));
}

static struct continuity judge(const struct continuity_series *loss)
{
	struct continuity out;

	continuity_judge(loss, NULL, NULL, &out);
	return out;
}

/* Changes are 0.2 and -0.2 by turns, 50 and 49 of each kind or so: their median is one of these, the deviation from it 0 or 0.4. */
TEST(the_same_values_are_no_difference)
{
	struct continuity_series *loss = new_series();
	before(loss, 61, 1, 100, 2);
	after(loss, 61, 120, 2);
	struct continuity c = judge(loss);
	CHECK_INT(c.overlap_steps, 40);
	CHECK_INT(c.first_step, 61);
	CHECK_INT(c.stride, 1);
	CHECK(c.loss_difference == 0 && c.loss_spreads == 0);
	CHECK_INT(c.verdict, CONTINUITY_CONTINUED);
	CHECK_INT(c.cause_count, 0);
	free(loss);
}

/* 0.001 of 2 is five times the least spread, a ten thousandth of the loss. */
TEST(a_curve_without_noise_has_the_least_spread)
{
	struct continuity_series *loss = new_series();
	for (int64_t step = 1; step <= 100; step++)
		continuity_add_before(loss, 61, step, 2);
	for (int64_t step = 61; step <= 100; step++)
		continuity_add_after(loss, step, 2.001);
	struct continuity c = judge(loss);
	CHECK(fabs(c.loss_spread - 2e-4) < 1e-12);
	CHECK(fabs(c.loss_spreads - 5) < 1e-6);
	CHECK_INT(c.verdict, CONTINUITY_DIFFERS);
	CHECK_TEXT(c.causes[0], "older checkpoint");
	free(loss);
}

TEST(a_loss_of_nothing_but_zeroes_goes_on)
{
	struct continuity_series *loss = new_series();
	for (int64_t step = 1; step <= 20; step++) {
		continuity_add_before(loss, 11, step, 0);
		if (step > 10)
			continuity_add_after(loss, step, 0);
	}
	CHECK_INT(judge(loss).verdict, CONTINUITY_CONTINUED);
	free(loss);
}

TEST(a_lower_loss_has_seen_other_data)
{
	struct continuity_series *loss = new_series();
	for (int64_t step = 1; step <= 20; step++) {
		continuity_add_before(loss, 11, step, 2);
		if (step > 10)
			continuity_add_after(loss, step, 1);
	}
	CHECK_TEXT(judge(loss).causes[0], "data order");
	free(loss);
}

TEST(values_that_are_no_numbers_are_left_out)
{
	struct continuity_series *loss = new_series();
	before(loss, 11, 1, 14, 2);
	continuity_add_before(loss, 11, 15, NAN);
	continuity_add_before(loss, 11, 16, INFINITY);
	after(loss, 11, 20, 2);
	struct continuity c = judge(loss);
	CHECK_INT(c.overlap_steps, 4);
	CHECK_INT(c.verdict, CONTINUITY_CONTINUED);
	free(loss);
}

/* A restart that blew up is none that went on: before it the loss was a number at the same steps. */
TEST(no_number_behind_it_differs)
{
	struct continuity_series *loss = new_series();
	before(loss, 11, 1, 20, 2);
	for (int64_t step = 11; step <= 15; step++)
		continuity_add_after(loss, step, step == 11 ? INFINITY : NAN);
	after(loss, 16, 30, 2);
	struct continuity c = judge(loss);
	CHECK_INT(c.first_step, 11);
	CHECK_INT(c.overlap_steps, 10);
	CHECK_INT(c.no_number_steps, 5);
	CHECK_INT(c.no_number_step, 11);
	CHECK(isinf(c.no_number_after) && fabs(c.no_number_before - 2.1) < 1e-9);
	CHECK_INT(c.verdict, CONTINUITY_DIFFERS);
	CHECK_INT(c.cause_count, 1);
	CHECK_TEXT(c.causes[0], "not a number");
	CHECK(c.loss_difference == 0);
	free(loss);
}

TEST(a_rate_that_is_no_number_is_not_compared)
{
	struct continuity_series *loss = new_series(), *rate = new_series();
	struct continuity c;
	before(loss, 11, 1, 20, 2);
	after(loss, 11, 30, 2);
	continuity_add_before(rate, 11, 11, 1);
	continuity_add_after(rate, 11, NAN);
	continuity_judge(loss, rate, NULL, &c);
	CHECK_INT(c.rate, CONTINUITY_UNKNOWN);
	CHECK_INT(c.verdict, CONTINUITY_CONTINUED);
	free(loss);
	free(rate);
}

TEST(each_cause_is_named)
{
	struct continuity_series *loss = new_series(), *rate = new_series(), *data = new_series();
	struct continuity c;
	before(loss, 11, 1, 20, 2);
	continuity_add_after(loss, 11, NAN);
	after(loss, 12, 30, 3);
	for (int64_t step = 11; step <= 20; step++) {
		continuity_add_before(rate, 11, step, 1);
		continuity_add_after(rate, step, 2);
		continuity_add_before(data, 11, step, 1);
		continuity_add_after(data, step, 2);
	}
	continuity_judge(loss, rate, data, &c);
	CHECK_INT(c.cause_count, CONTINUITY_CAUSES_MAX);
	CHECK_TEXT(c.causes[0], "not a number");
	CHECK_TEXT(c.causes[1], "older checkpoint");
	CHECK_TEXT(c.causes[2], "rate restarted");
	CHECK_TEXT(c.causes[3], "data order");
	free(loss);
	free(rate);
	free(data);
}

/* Four changes are the fewest that tell of a spread. */
TEST(too_little_before_proves_nothing)
{
	for (int64_t last = 4; last <= 5; last++) {
		struct continuity_series *loss = new_series();
		before(loss, 3, 1, last, 2);
		after(loss, 3, 9, 2);
		CHECK_INT(judge(loss).verdict, last == 4 ? CONTINUITY_NOT_PROVABLE : CONTINUITY_CONTINUED);
		free(loss);
	}
}

TEST(what_is_kept_has_an_end)
{
	struct continuity_series *loss = new_series();
	before(loss, 1001, 1, 3000, 2);
	after(loss, 1001, 3000, 2);
	CHECK_INT(loss->before.count, CONTINUITY_WINDOW);
	CHECK_INT(loss->after.count, CONTINUITY_WINDOW);
	CHECK_INT(judge(loss).overlap_steps, CONTINUITY_PAIRS);
	free(loss);
}

TEST(a_step_that_was_printed_twice_has_its_last_value)
{
	struct continuity_series *loss = new_series();
	continuity_add_after(loss, 5, 1);
	continuity_add_after(loss, 5, 2);
	CHECK_INT(loss->after.count, 1);
	CHECK(loss->after.prints[0].value == 2);
	free(loss);
}

/* A bad restart at 81, and one that goes on from 61: what it is compared with up to 80 nobody made again. */
TEST(what_was_before_a_bad_restart_is_before_what_goes_on_from_in_front_of_it)
{
	struct continuity_series *bad = new_series(), *now = new_series();
	before(bad, 81, 1, 100, 2);
	before(now, 61, 1, 80, 2);
	before(now, 61, 81, 120, 9); /* what the bad one printed */
	continuity_put_before(now, bad, 81);
	CHECK_INT(now->before.count, 40);
	CHECK_INT(now->before.prints[19].step, 80);
	CHECK_INT(now->before.prints[20].step, 81);
	CHECK(now->before.prints[39].value < 3);
	after(now, 61, 120, 2);
	CHECK_INT(judge(now).verdict, CONTINUITY_CONTINUED);
	CHECK_INT(judge(now).overlap_steps, 40);
	free(bad);
	free(now);
}

/* Ten of them, before and behind, come behind those of later steps; what has no room is what is farthest from the restart. */
TEST(prints_that_come_late_are_compared_where_they_belong)
{
	struct continuity_series *loss = new_series();
	before(loss, 61, 1, 60, 2);
	before(loss, 61, 71, 80, 2);
	before(loss, 61, 61, 70, 2);
	after(loss, 71, 100, 2);
	after(loss, 61, 70, 2);
	struct continuity c = judge(loss);
	CHECK_INT(c.first_step, 61);
	CHECK_INT(c.overlap_steps, 20);
	CHECK_INT(c.verdict, CONTINUITY_CONTINUED);
	free(loss);

	loss = new_series();
	after(loss, 101, 100 + CONTINUITY_WINDOW, 2);
	after(loss, 91, 100, 2);
	CHECK_INT(loss->after.count, CONTINUITY_WINDOW);
	CHECK_INT(loss->after.prints[0].step, 91);
	CHECK_INT(loss->after.prints[CONTINUITY_WINDOW - 1].step, 90 + CONTINUITY_WINDOW);
	free(loss);
}

/* Noise that is larger in front of step 51, so that what the spread is made of shows. */
static double noisy_at(int64_t step)
{
	return 4 - 0.01 * (double)step + (double)(step * 37 % 11 - 5) * (step < 51 ? 0.02 : 0.002);
}

static void noisy(struct continuity_series *series, int64_t first)
{
	for (int64_t step = 1; step <= 110; step++)
		continuity_add_before(series, first, step, noisy_at(step));
}

/* It begins behind the bad one's first step: its spread is of the prints around its own. */
TEST(a_restart_that_undoes_a_bad_one_is_as_if_that_had_not_been)
{
	struct continuity_series *bad = new_series(), *now = new_series(), *without = new_series(),
				 *none = new_series();
	noisy(bad, 81);
	noisy(without, 101);
	for (int64_t step = 101; step <= 150; step++) {
		continuity_add_after(now, step, noisy_at(step));
		continuity_add_after(without, step, noisy_at(step));
	}
	const struct continuity_series *before[] = {bad, none, none}, *behind[] = {now, none, none};
	struct continuity wanted = judge(without), c;
	CHECK(continuity_takes_back(before, behind, &c));
	CHECK(c.loss_spread == wanted.loss_spread);
	CHECK_INT(c.overlap_steps, wanted.overlap_steps);
	CHECK_INT(c.overlap_steps, 10);
	CHECK(c.loss_difference == 0);
	free(bad);
	free(now);
	free(without);
	free(none);
}
