/*
 * Job: points folded into periods of equal length, and CloudWatch's statistics of each. A period is stamped with its start.
 *      Points that are not finite are none of CloudWatch's, and are left out.
 * Ownership: init/done. Threads: one at a time.
 * Source: docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/Statistics-definitions.html
 */
#pragma once

#include "base/alloc.h"
#include "base/error.h"
#include "base/span.h"
#include "model/metrics/point.h"

enum metric_stat_kind { STAT_SAMPLE_COUNT, STAT_AVERAGE, STAT_SUM, STAT_MINIMUM, STAT_MAXIMUM, STAT_PERCENTILE };

struct metric_stat {
	enum metric_stat_kind kind;
	double percent; /* of PERCENTILE */
};

/* "Average", "p99.9", …; ERR_SEMANTIC: another, or one that is not done here, in words. */
enum status metric_stat_parse(struct span name, struct metric_stat *out, struct error *err) MUST_CHECK;

struct metric_period {
	uint64_t count; /* 0: there is none */
	struct sum sum;
	double min, max;
	size_t first_value; /* of the values, once they are sorted */
};

struct metric_value {
	size_t period;
	double value;
};

struct metric_periods {
	int64_t origin_ms, period_ms;
	struct metric_period *items;
	size_t count;
	bool keeps_values; /* for percentiles */
	struct metric_value *values;
	size_t value_count, value_cap;
	uint64_t *room; /* values that may still be kept, of all that share it */
};

/* Periods from origin_ms on. */
enum status metric_periods_init(struct metric_periods *periods, int64_t origin_ms, int64_t period_ms, size_t count,
	struct error *err) MUST_CHECK;
void metric_periods_done(struct metric_periods *periods);
/* Others than those of these periods are left out. ERR_TOO_LARGE: there is no room for its value. */
enum status metric_periods_add(
	struct metric_periods *periods, int64_t ts_ms, double value, struct error *err) MUST_CHECK;
/* Values of one period together, at a time in it; not beside percentiles. */
void metric_periods_merge(
	struct metric_periods *periods, int64_t ts_ms, uint64_t count, struct sum sum, double min, double max);
/* After the last one, before percentiles are asked for. */
void metric_periods_sort(struct metric_periods *periods);
/* Of a period that has points. */
double metric_periods_stat(const struct metric_periods *periods, size_t period, const struct metric_stat *stat);

AUTO_DONE_TYPE(metric_periods)
