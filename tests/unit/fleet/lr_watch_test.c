#include "fleet/lr_watch.h"

#include "test.h"

#include <math.h>

static const struct lr_schedule constant = {.shape = LR_CONSTANT, .peak = 6e-5, .least = 6e-5};

static void take(struct lr_watch *watch, int64_t step, double printed)
{
	struct lr_print print = {step, 1000 * step, lr_schedule_at(&constant, (double)step), printed, 1};

	lr_watch_take(watch, &constant, &print);
}

TEST(a_drift_is_counted_from_its_first_print)
{
	struct lr_watch watch = {0};

	take(&watch, 1, 6.001e-5);
	take(&watch, 2, 6.0599e-5); /* 0.998 % */
	CHECK_INT(watch.kept, 2);
	take(&watch, 3, 6.0606e-5); /* 1.01 % */
	take(&watch, 4, NAN); /* says nothing */
	take(&watch, 5, 5.9399e-5);
	CHECK_INT(watch.kept, 0);
	CHECK_INT(watch.differing, 2);
	CHECK_INT(watch.first.step, 3);
	CHECK_INT(watch.first.ts_ms, 3000);
	CHECK_DOUBLE(watch.first.observed, 6.0606e-5);
	CHECK_DOUBLE(watch.first.declared, 6e-5);
	take(&watch, 6, 6e-5);
	CHECK_INT(watch.differing, 0);
	CHECK_INT(watch.kept, 1);
}

/* 6.4e-5 printed as 6e-05 is not told from 6e-5; printed as 7e-05 it would be 6.5e-5 at least. */
TEST(few_digits_are_as_exact_as_their_last_one)
{
	static const struct lr_schedule finer = {.shape = LR_CONSTANT, .peak = 6.4e-5, .least = 6.4e-5};
	struct lr_watch watch = {0};
	struct lr_print print = {1, 0, 6.4e-5, 6e-5, 1};

	lr_watch_take(&watch, &finer, &print);
	CHECK_INT(watch.kept, 1);
	print.observed = 7e-5;
	lr_watch_take(&watch, &finer, &print);
	CHECK_INT(watch.differing, 1);
	print.observed = 6.123e-5; /* it prints four: 6e-05 was 6.000e-05 */
	lr_watch_take(&watch, &finer, &print);
	print.observed = 6e-5;
	lr_watch_take(&watch, &finer, &print);
	CHECK_INT(watch.differing, 3);
}

/* 3e-4 where 2.6e-4 is declared: one digit and four places may be 2.5e-4 to 3.5e-4; printed with seven digits it is 15 % more. */
TEST(digits_that_a_line_shows_count_though_they_are_zeros)
{
	static const struct lr_schedule lower = {.shape = LR_CONSTANT, .peak = 2.6e-4, .least = 2.6e-4};
	static const struct {
		const char *line;
		unsigned differing;
	} lines[] = {{"", 0}, {"{'loss': 2.5, 'learning_rate': 3e-04}", 0}, {"lr 0.000300", 0}, {"lr 3.00e-04", 0},
		{"lr 2.000000E-04 | loss 3.000000E+00", 0}, {"lr 3.000000E-", 0}, {"lr 3.000e-04", 1},
		{" iteration 7/ 400 | learning rate: 3.000000E-04 | lm loss: 2.500000E+00 |", 1},
		{"lm loss: 2.500000E+00 |learning rate:3.000000E-04", 1}, {"lr=3000e-7", 1}};
	struct lr_print print = {1, 0, 2.6e-4, 3e-4, 1};

	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
		struct lr_watch watch = {0};
		lr_watch_read(&watch, span_from(lines[i].line), 3e-4);
		CHECK(watch.is_line_read);
		lr_watch_take(&watch, &lower, &print);
		if (watch.differing != lines[i].differing)
			test_fail(__FILE__, __LINE__, "'%s': %u differ", lines[i].line, watch.differing);
	}
}

/* {:.6f}: the peak has three digits, the tail one, and then none. */
TEST(fixed_decimals_are_as_exact_as_the_last_one)
{
	static const struct lr_schedule peak = {.shape = LR_CONSTANT, .peak = 1.23e-4, .least = 1.23e-4},
					tail = {.shape = LR_CONSTANT, .peak = 6.4e-6, .least = 6.4e-6},
					end = {.shape = LR_CONSTANT, .peak = 4e-7, .least = 4e-7};
	struct lr_watch watch = {0};

	lr_watch_take(&watch, &end, &(struct lr_print){1, 0, 4e-7, 0, 1}); /* the first step of a warm-up */
	lr_watch_take(&watch, &peak, &(struct lr_print){2, 0, 1.23e-4, 0.000123, 1});
	lr_watch_take(&watch, &tail, &(struct lr_print){3, 0, 6.4e-6, 0.000006, 1});
	lr_watch_take(&watch, &end, &(struct lr_print){4, 0, 4e-7, 0, 1});
	CHECK_INT(watch.kept, 4);
	lr_watch_take(&watch, &tail, &(struct lr_print){5, 0, 6.4e-6, 0.000007, 1});
	lr_watch_take(&watch, &tail, &(struct lr_print){6, 0, 6.4e-6, 0, 1});
	CHECK_INT(watch.differing, 2);
}

/* A line from 5e-5 to 0 in 400 steps, times FACTOR from step FROM on. A print each 10 steps; the bar is drawn each DRAWN, and behind each print. */
static struct lr_watch watch_bar(int64_t drawn, int64_t from, double factor, unsigned *most)
{
	struct lr_watch watch = {0};
	static const struct lr_schedule line = {.shape = LR_LINEAR, .peak = 5e-5, .total = 400};
	int64_t bar = 0;

	*most = 0;
	lr_watch_read(
		&watch, SPAN("{'loss': 2.9, 'grad_norm': 1.1, 'learning_rate': 4.875e-05, 'epoch': 0.03}"), 4.875e-5);
	for (int64_t step = 1; step <= 390; step++) {
		bar = step % drawn ? bar : step;
		if (step % 10)
			continue;
		double printed = lr_schedule_at(&line, (double)step) * (step >= from ? factor : 1);
		struct lr_print print = {bar, 0, lr_schedule_at(&line, (double)bar), printed, 1};
		lr_watch_take(&watch, &line, &print);
		*most = watch.differing > *most ? watch.differing : *most;
		bar = step;
	}
	return watch;
}

TEST(a_rate_whose_step_is_of_a_bar_that_lags_is_any_up_to_the_next_one)
{
	static const int64_t drawn[] = {3, 4, 6, 7, 11, 13, 1000};
	unsigned most;

	for (size_t i = 0; i < sizeof drawn / sizeof *drawn; i++) {
		struct lr_watch watch = watch_bar(drawn[i], 1000, 1, &most);
		CHECK(watch.is_of_bar && watch.was_loose && !most);
		watch_bar(drawn[i], 200, 0.5, &most);
		CHECK(most >= 4); /* far off is off at any of them */
	}
}

TEST(a_bar_that_is_drawn_at_each_print_has_its_step)
{
	static const int64_t drawn[] = {1, 2, 5, 10};
	unsigned most;

	for (size_t i = 0; i < sizeof drawn / sizeof *drawn; i++) {
		struct lr_watch watch = watch_bar(drawn[i], 1000, 1, &most);
		CHECK(watch.is_of_bar && !watch.was_loose && !most);
		watch = watch_bar(drawn[i], 200, 1.05, &most);
		CHECK(most >= 4 && watch.first.step == 200);
	}
}

TEST(a_line_that_says_its_step_is_none_of_a_bar)
{
	static const char *const lines[] = {"step 10 lr 4.875e-05", "{'step': 10, 'learning_rate': 4.875e-05}",
		"step 10: {'loss': 2.9, 'learning_rate': 4.875e-05}"};

	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
		struct lr_watch watch = {0};
		lr_watch_read(&watch, span_from(lines[i]), 4.875e-5);
		CHECK(!watch.is_of_bar);
	}
}

/* Three of the first steps overflow, and one in the middle: the schedule waits for each. A rate that runs ahead is none of these. */
TEST(steps_that_a_loss_scale_left_out_are_none_of_the_schedule)
{
	static const struct lr_schedule line = {.shape = LR_LINEAR, .peak = 5e-5, .total = 400, .may_skip = true};
	static const double factors[] = {1, 0.95, 1.05};

	for (size_t i = 0; i < sizeof factors / sizeof *factors; i++) {
		struct lr_watch watch = {.is_line_read = true};
		unsigned most = 0;
		for (int64_t step = 1; step <= 400; step++) {
			int64_t made = step <= 3 ? 0 : step - 3 - (step >= 200);
			double declared = lr_schedule_at(&line, (double)step);
			double printed = lr_schedule_at(&line, (double)made) * (step >= 250 ? factors[i] : 1);
			lr_watch_take(&watch, &line, &(struct lr_print){step, 0, declared, printed, 1});
			most = watch.differing > most ? watch.differing : most;
			CHECK(step >= 250 || !most);
		}
		CHECK(watch.skipped >= 3);
		if (factors[i] == 1 ? most : most < 4)
			test_fail(__FILE__, __LINE__, "%g: %u, %lld", factors[i], most, (long long)watch.skipped);
	}
}
