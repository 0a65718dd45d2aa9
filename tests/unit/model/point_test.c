#include "model/metrics/point.h"
#include "test.h"

TEST(a_summary_counts_what_is_not_finite_apart)
{
	static const double values[] = {NAN, 3, INFINITY, -1, -INFINITY, 2, NAN};
	struct summary summary = {0};

	CHECK(!summary_has_finite(&summary));
	CHECK_DOUBLE(summary_mean(&summary), NAN);
	for (int i = 0; i < 7; i++) {
		struct point point = {.step = 10 + i, .ts_ms = 100 + i, .value = values[i]};
		summary_add(&summary, &point);
	}
	CHECK_INT(summary.count, 7);
	CHECK_INT(summary.nan_count, 2);
	CHECK_INT(summary.inf_count, 2);
	CHECK_DOUBLE(summary.min, -1);
	CHECK_DOUBLE(summary.max, 3);
	CHECK_DOUBLE(sum_value(summary.sum), 4);
	CHECK_DOUBLE(summary.last, NAN);
	CHECK_DOUBLE(summary_mean(&summary), 4.0 / 3);
	CHECK_INT(summary.first_step, 10);
	CHECK_INT(summary.last_step, 16);
	CHECK_INT(summary.last_ts_ms, 106);
}

static double mean_of_all(const double *values, size_t count)
{
	struct summary summary = {0};

	for (size_t i = 0; i < count; i++)
		summary_add(&summary, &(struct point){.value = values[i]});
	return summary_mean(&summary);
}

TEST(a_mean_neither_overflows_nor_loses_what_is_small)
{
	static const double cancels[] = {1.5e308, 1.5e308, -1.5e308, -1.5e308}, negative[] = {0x1.8p1023, -0x1.cp1023},
			    beside[] = {DBL_MAX, 3, -DBL_MAX}, same[] = {DBL_MAX, DBL_MAX, DBL_MAX},
			    tiny[] = {5e-324, 5e-324};

	CHECK_DOUBLE(mean_of_all(cancels, 4), 0);
	CHECK_DOUBLE(mean_of_all(negative, 2), -0x1p1020);
	CHECK_DOUBLE(mean_of_all(beside, 3), 1);
	CHECK_DOUBLE(mean_of_all(same, 3), DBL_MAX);
	CHECK_DOUBLE(mean_of_all(tiny, 2), 5e-324);
}

TEST(a_sum_that_an_older_program_let_overflow_has_a_mean_among_its_values)
{
	CHECK_DOUBLE(sum_mean((struct sum){INFINITY, 0}, 3, 1e308, 1.7e308), 1.7e308);
	CHECK_DOUBLE(sum_mean((struct sum){NAN, 0}, 3, -1e308, 1.7e308), -1e308);
}
