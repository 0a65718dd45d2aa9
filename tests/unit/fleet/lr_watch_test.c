#include "fleet/lr_watch.h"

#include "test.h"

#include <math.h>

static const struct lr_schedule constant = {.shape = LR_CONSTANT, .peak = 6e-5, .least = 6e-5};

static void take(struct lr_watch *watch, int64_t step, double printed)
{
	struct lr_print print = {step, 1000 * step, lr_schedule_at(&constant, (double)step), printed};

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
	struct lr_print print = {1, 0, 6.4e-5, 6e-5};

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
	struct lr_print print = {1, 0, 2.6e-4, 3e-4};

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

	lr_watch_take(&watch, &end, &(struct lr_print){1, 0, 4e-7, 0}); /* the first step of a warm-up */
	lr_watch_take(&watch, &peak, &(struct lr_print){2, 0, 1.23e-4, 0.000123});
	lr_watch_take(&watch, &tail, &(struct lr_print){3, 0, 6.4e-6, 0.000006});
	lr_watch_take(&watch, &end, &(struct lr_print){4, 0, 4e-7, 0});
	CHECK_INT(watch.kept, 4);
	lr_watch_take(&watch, &tail, &(struct lr_print){5, 0, 6.4e-6, 0.000007});
	lr_watch_take(&watch, &tail, &(struct lr_print){6, 0, 6.4e-6, 0});
	CHECK_INT(watch.differing, 2);
}
