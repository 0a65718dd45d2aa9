#include "aws/metrics/metric_periods.h"
#include "test.h"

#include <math.h>

TEST(statistics_have_names)
{
	static const struct {
		const char *name;
		struct metric_stat stat;
	} rows[] = {
		{"SampleCount", {STAT_SAMPLE_COUNT, 0}},
		{"Average", {STAT_AVERAGE, 0}},
		{"Sum", {STAT_SUM, 0}},
		{"Minimum", {STAT_MINIMUM, 0}},
		{"Maximum", {STAT_MAXIMUM, 0}},
		{"p0", {STAT_PERCENTILE, 0}},
		{"p99.95", {STAT_PERCENTILE, 99.95}},
		{"p100", {STAT_PERCENTILE, 100}},
	};
	static const char *const others[] = {
		"", "average", "p", "p-1", "p100.1", "pnan", "p5x", "tm90", "IQM", "PR(10:20)", "TM(10%:90%)"};
	struct metric_stat stat;

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		CHECK_OK(metric_stat_parse(span_from(rows[i].name), &stat, &err));
		CHECK_INT(stat.kind, rows[i].stat.kind);
		if (stat.kind == STAT_PERCENTILE)
			CHECK_DOUBLE(stat.percent, rows[i].stat.percent);
	}
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		CHECK_FAILS(metric_stat_parse(span_from(others[i]), &stat, &err), ERR_SEMANTIC, others[i]);
}

static double stat_of(const struct metric_periods *periods, size_t period, const char *name)
{
	struct metric_stat stat;

	CHECK_OK(metric_stat_parse(span_from(name), &stat, &err));
	return metric_periods_stat(periods, period, &stat);
}

TEST(points_are_folded_into_periods)
{
	AUTO_DONE(metric_periods) periods;
	static const struct {
		int64_t ts_ms;
		double value;
	} points[] = {{999, 100}, {1000, 4}, {2999, 1}, {1500, 2}, {2000, 3}, {2500, NAN}, {2500, INFINITY}, {3000, 7},
		{5000, -1}, {7000, 100}, {INT64_MIN, 1}, {INT64_MAX, 1}};

	CHECK_OK(metric_periods_init(&periods, 1000, 2000, 3, &err));
	periods.keeps_values = true;
	for (size_t i = 0; i < sizeof points / sizeof *points; i++)
		CHECK_OK(metric_periods_add(&periods, points[i].ts_ms, points[i].value, &err));
	metric_periods_sort(&periods);
	CHECK_INT(periods.items[0].count, 4);
	CHECK_DOUBLE(stat_of(&periods, 0, "SampleCount"), 4);
	CHECK_DOUBLE(stat_of(&periods, 0, "Sum"), 10);
	CHECK_DOUBLE(stat_of(&periods, 0, "Average"), 2.5);
	CHECK_DOUBLE(stat_of(&periods, 0, "Minimum"), 1);
	CHECK_DOUBLE(stat_of(&periods, 0, "Maximum"), 4);
	CHECK_DOUBLE(stat_of(&periods, 0, "p0"), 1);
	CHECK_DOUBLE(stat_of(&periods, 0, "p50"), 2.5);
	CHECK_DOUBLE(stat_of(&periods, 0, "p100"), 4);
	CHECK_INT(periods.items[1].count, 1);
	CHECK_DOUBLE(stat_of(&periods, 1, "p90"), 7);
	CHECK_DOUBLE(stat_of(&periods, 2, "Maximum"), -1);
	CHECK_DOUBLE(stat_of(&periods, 2, "p1"), -1);
}

TEST(values_are_kept_as_far_as_there_is_room)
{
	AUTO_DONE(metric_periods) periods;
	uint64_t room = 2;

	CHECK_OK(metric_periods_init(&periods, 0, 1000, 1, &err));
	periods.keeps_values = true;
	periods.room = &room;
	CHECK_OK(metric_periods_add(&periods, 0, 1, &err));
	CHECK_OK(metric_periods_add(&periods, 0, 2, &err));
	CHECK_FAILS(metric_periods_add(&periods, 0, 3, &err), ERR_TOO_LARGE, "--max-group-values");
}

TEST(sums_are_merged)
{
	AUTO_DONE(metric_periods) periods;

	CHECK_OK(metric_periods_init(&periods, 1000, 2000, 2, &err));
	metric_periods_merge(&periods, 1500, 3, (struct sum){6, 0}, 1, 3);
	metric_periods_merge(&periods, 2999, 2, (struct sum){10, 0}, 4, 6);
	CHECK_OK(metric_periods_add(&periods, 1000, 0.5, &err));
	metric_periods_merge(&periods, 999, 1, (struct sum){1, 0}, 1, 1);
	metric_periods_merge(&periods, 5000, 1, (struct sum){1, 0}, 1, 1);
	CHECK_DOUBLE(stat_of(&periods, 0, "SampleCount"), 6);
	CHECK_DOUBLE(stat_of(&periods, 0, "Sum"), 16.5);
	CHECK_DOUBLE(stat_of(&periods, 0, "Minimum"), 0.5);
	CHECK_DOUBLE(stat_of(&periods, 0, "Maximum"), 6);
	CHECK_INT(periods.items[1].count, 0);
}
