#include "fleet/lr_watch.h"

#include "test.h"

#include <math.h>

/* Beyond this a watch is taken to search without end. */
enum { ASKED_MOST = 1000 };

struct lr_range __real_lr_schedule_between(const struct lr_schedule *schedule, double from_step, double to_step);
struct lr_range __wrap_lr_schedule_between(const struct lr_schedule *schedule, double from_step, double to_step);

static unsigned asked;
static bool is_asking_counted;

/* The linker puts it before the schedule's own. */
struct lr_range __wrap_lr_schedule_between(const struct lr_schedule *schedule, double from_step, double to_step)
{
	if (is_asking_counted && ++asked > ASKED_MOST)
		test_fail(__FILE__, __LINE__, "asked for steps %g to %g and %u times before", from_step, to_step,
			asked - 1);
	return __real_lr_schedule_between(schedule, from_step, to_step);
}

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

/* A print each step, a bar that is drawn each second one. */
TEST(a_rate_that_is_off_is_told_though_two_prints_stand_at_one_step)
{
	static const struct lr_schedule line = {.shape = LR_LINEAR, .peak = 5e-5, .total = 400};
	static const double factors[] = {1, 10};

	for (size_t i = 0; i < sizeof factors / sizeof *factors; i++) {
		struct lr_watch watch = {0};
		lr_watch_read(&watch, SPAN("{'loss': 2.9, 'learning_rate': 4.875e-05, 'epoch': 0.03}"), 4.875e-5);
		for (int64_t step = 2; step < 200; step++) {
			double rate = lr_schedule_at(&line, (double)step) * factors[i];
			struct lr_print print = {step / 2 * 2, 0, lr_schedule_at(&line, (double)step), rate, 1};
			lr_watch_take(&watch, &line, &print);
		}
		CHECK(factors[i] == 1 ? !watch.differing : watch.differing > 90);
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

/* Each shape, and rates that jump: down behind a warm-up that a decay began in, and where an inverse square root ends. */
static const struct lr_schedule skipping[] = {{.shape = LR_LINEAR, .peak = 1e-3, .warmup = 100, .total = 2e6},
	{.shape = LR_COSINE, .peak = 1e-3, .least = 1e-5, .initial = 1e-6, .warmup = 1000, .total = 1e6},
	{.shape = LR_INVERSE_SQRT, .peak = 1e-3, .least = 1e-5, .warmup = 2000, .total = 1e6},
	{.shape = LR_WSD, .peak = 1e-3, .warmup = 100, .decay = 2e5, .total = 1e6},
	{.shape = LR_WSD, .peak = 1e-3, .warmup = 300000, .decay = 9e5, .total = 1e6},
	{.shape = LR_WSD_COSINE, .peak = 1e-3, .least = 2e-4, .warmup = 0, .decay = 1e6, .total = 1e6},
	{.shape = LR_CONSTANT, .peak = 1e-3, .warmup = 5000}};

static unsigned asked_for(struct lr_watch *watch, const struct lr_schedule *schedule, int64_t step, double printed)
{
	struct lr_schedule with_half = *schedule;

	with_half.may_skip = true;
	asked = 0;
	is_asking_counted = true;
	watch->is_line_read = true;
	watch->digits = 4;
	watch->places = 9;
	lr_watch_take(watch, &with_half, &(struct lr_print){step, 0, 0, printed, 1});
	is_asking_counted = false;
	return asked;
}

/* A step may be a count of tokens, or a time: of 2^63 steps 2^54 may have been left out. */
TEST(a_rate_of_no_step_is_told_at_once_however_many_may_be_left_out)
{
	static const int64_t steps[] = {1, 31, 1000, 1000000, 20000000000, 4000000000000, 1LL << 53, INT64_MAX};

	for (size_t i = 0; i < sizeof skipping / sizeof *skipping; i++)
		for (size_t k = 0; k < sizeof steps / sizeof *steps; k++) {
			struct lr_watch watch = {0};
			CHECK_INT(asked_for(&watch, &skipping[i], steps[k], 5e-3), 1);
			CHECK_INT(asked_for(&watch, &skipping[i], steps[k], 5e-3), 1);
			CHECK_INT(watch.differing, 2);
			CHECK_INT(watch.skipped, 0);
		}
}

TEST(the_step_whose_rate_a_print_has_is_found_in_few_questions)
{
	static const int64_t steps[] = {1000, 1000000, 20000000000, 4000000000000, 1LL << 53, INT64_MAX};
	struct lr_schedule line = {.shape = LR_LINEAR, .peak = 1e-3, .least = 1e-5};

	for (size_t k = 0; k < sizeof steps / sizeof *steps; k++) {
		struct lr_watch watch = {0};
		line.total = (double)
			steps[k]; /* it ends where the print stands: all that may be left out have rates of their own */
		int64_t most = 32 + steps[k] / 500;
		double printed = lr_schedule_at(&line, line.total - (double)(most / 2)) * 1.0001;
		CHECK(asked_for(&watch, &line, steps[k], printed) <= 2 * 64); /* the fewest and the most */
		CHECK_INT(watch.kept, 1);
		CHECK(watch.skipped <= most / 2);
		CHECK(asked_for(&watch, &line, steps[k], printed * 2) <= 64);
		CHECK_INT(watch.kept, 0);
	}
}

/* The plain way: one after the other. */
static int64_t first_that_holds(const struct lr_schedule *schedule, int64_t step, double printed)
{
	int64_t most = step < 32 ? step : 32 + step / 500;

	for (int64_t skipped = 0; skipped <= most; skipped++) {
		double at = (double)(step - skipped);
		struct lr_range range = __real_lr_schedule_between(schedule, at, at);
		if (lr_range_holds(&range, printed, 0))
			return skipped;
	}
	return -1;
}

TEST(as_few_steps_as_the_rate_shows_are_taken_for_left_out)
{
	static const double factors[] = {1, 1.009, 1.02, 1.05, 1.3, 0.98, 0.9};
	unsigned kept = 0, differing = 0;

	for (size_t i = 0; i < sizeof skipping / sizeof *skipping; i++)
		for (int64_t step = 1; step < 1200000; step += 1 + step / 3)
			for (size_t k = 0; k < 4 * sizeof factors / sizeof *factors; k++) {
				struct lr_watch watch = {0};
				int64_t left_out = (int64_t)(k % 4) * step / 900;
				double rate = lr_schedule_at(&skipping[i], (double)(step - left_out)) * factors[k / 4];
				int64_t first = first_that_holds(&skipping[i], step, rate);
				CHECK(asked_for(&watch, &skipping[i], step, rate) <= 2 * 16);
				if (watch.skipped != (first < 0 ? 0 : first) || watch.kept != (first >= 0))
					test_fail(__FILE__, __LINE__, "shape %d at step %lld, rate %g: %lld, not %lld",
						skipping[i].shape, (long long)step, rate, (long long)watch.skipped,
						(long long)first);
				kept += first > 0;
				differing += first < 0;
			}
	CHECK(kept > 100 && differing > 100);
}

/* How many prints in a row are off at most, of a rate that is times `factor` from step `from` to step `to`. */
static unsigned most_off(const struct lr_schedule *schedule, int64_t every, int64_t from, int64_t to, double factor)
{
	struct lr_watch watch = {.is_line_read = true};
	unsigned most = 0;

	for (int64_t step = every; step < (int64_t)schedule->total; step += every) {
		double declared = lr_schedule_at(schedule, (double)step);
		double printed = declared * (step >= from && step <= to ? factor : 1);
		lr_watch_take(&watch, schedule, &(struct lr_print){step, 0, declared, printed, 1});
		most = watch.differing > most ? watch.differing : most;
	}
	return most;
}

/* A step that is left out keeps a falling rate where it was; it does not raise it. What was too high for ten prints is no steps left out, and
 * behind it the declared rate is the declared one. */
TEST(a_rate_that_rises_in_its_decay_is_no_steps_left_out)
{
	static const struct lr_schedule line = {.shape = LR_LINEAR, .peak = 5e-5, .total = 400, .may_skip = true},
					cosine = {.shape = LR_COSINE,
						.peak = 6e-4,
						.warmup = 2000,
						.total = 100000,
						.may_skip = true};

	CHECK_INT(most_off(&line, 1, 200, 209, 1), 0);
	CHECK_INT(most_off(&line, 1, 200, 209, 1.1), 10);
	CHECK(most_off(&line, 1, 200, 209, 1.06) >= 4);
	CHECK_INT(most_off(&cosine, 10, 50000, 50090, 1.03), 10);
}

/* As docs/schedule.md has it: beyond a hundredth more than the rate of the step before, or less than that of the next. */
TEST(what_one_step_changes_hides_as_much_of_a_drift)
{
	static const struct lr_schedule line = {.shape = LR_LINEAR, .peak = 6e-4, .warmup = 50, .total = 1050};
	static const struct {
		int64_t step;
		double unseen, seen;
	} drifts[] = {{25, 1 + 1.0 / 25 + 0.0095, 1 + 1.0 / 25 + 0.0115}, /* in the warm-up to the next step's */
		{1000, 1 + 1.0 / 50 + 0.0095, 1 + 1.0 / 50 + 0.0115}, /* 50 steps before the end */
		{1000, 1 - 1.0 / 50 - 0.0095, 1 - 1.0 / 50 - 0.0115},
		{550, 1 + 1.0 / 500 + 0.0095, 1 + 1.0 / 500 + 0.0115}};

	for (size_t i = 0; i < sizeof drifts / sizeof *drifts; i++) {
		CHECK_INT(most_off(&line, 1, drifts[i].step, drifts[i].step, drifts[i].unseen), 0);
		CHECK_INT(most_off(&line, 1, drifts[i].step, drifts[i].step, drifts[i].seen), 1);
	}
}
