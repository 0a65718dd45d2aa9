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
	CHECK_DOUBLE(summary.sum, 4);
	CHECK_DOUBLE(summary.last, NAN);
	CHECK_DOUBLE(summary_mean(&summary), 4.0 / 3);
	CHECK_INT(summary.first_step, 10);
	CHECK_INT(summary.last_step, 16);
	CHECK_INT(summary.last_ts_ms, 106);
}
