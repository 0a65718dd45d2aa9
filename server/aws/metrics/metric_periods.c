#include "aws/metrics/metric_periods.h"

#include <math.h>
#include <stdlib.h>

enum status metric_stat_parse(struct span name, struct metric_stat *out, struct error *err)
{
	static const char *const names[] = {[STAT_SAMPLE_COUNT] = "SampleCount",
		[STAT_AVERAGE] = "Average",
		[STAT_SUM] = "Sum",
		[STAT_MINIMUM] = "Minimum",
		[STAT_MAXIMUM] = "Maximum"};

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (span_equal(name, span_from(names[i]))) {
			*out = (struct metric_stat){(enum metric_stat_kind)i, 0};
			return OK;
		}
	out->kind = STAT_PERCENTILE;
	if (name.len >= 2 && name.ptr[0] == 'p' && name.ptr[1] >= '0' && name.ptr[1] <= '9' &&
		span_parse_double(span_skip(name, 1), &out->percent) && out->percent >= 0 && out->percent <= 100)
		return OK;
	return error_set(err, ERR_SEMANTIC,
		"the statistic '%.*s' is none of SampleCount, Average, Sum, Minimum, Maximum and p0 to p100",
		(int)(name.len < 100 ? name.len : 100), name.ptr);
}

enum status metric_periods_init(
	struct metric_periods *periods, int64_t origin_ms, int64_t period_ms, size_t count, struct error *err)
{
	*periods = (struct metric_periods){.origin_ms = origin_ms, .period_ms = period_ms, .count = count};
	periods->items = mem_resize(NULL, count ? count : 1, sizeof *periods->items);
	if (!periods->items)
		return error_no_memory(err);
	memset(periods->items, 0, count * sizeof *periods->items);
	return OK;
}

void metric_periods_done(struct metric_periods *periods)
{
	mem_free(periods->items);
	mem_free(periods->values);
	*periods = (struct metric_periods){0};
}

static enum status keep(struct metric_periods *periods, size_t period, double value, struct error *err)
{
	if (periods->room && !*periods->room)
		return error_set(err, ERR_TOO_LARGE,
			"percentiles of so many points are not worked out (--max-group-values); ask a shorter time");
	if (!mem_grow((void **)&periods->values, periods->value_count, &periods->value_cap, sizeof *periods->values))
		return error_no_memory(err);
	periods->values[periods->value_count++] = (struct metric_value){period, value};
	if (periods->room)
		--*periods->room;
	return OK;
}

/* NULL: it is another's. */
static struct metric_period *period_at(struct metric_periods *periods, int64_t ts_ms)
{
	uint64_t at = ((uint64_t)ts_ms - (uint64_t)periods->origin_ms) / (uint64_t)periods->period_ms;

	return ts_ms < periods->origin_ms || at >= periods->count ? NULL : &periods->items[at];
}

static void merge(struct metric_period *period, uint64_t count, const struct sum *sum, double min, double max)
{
	period->min = period->count && period->min <= min ? period->min : min;
	period->max = period->count && period->max >= max ? period->max : max;
	sum_merge(&period->sum, sum);
	period->count += count;
}

void metric_periods_merge(
	struct metric_periods *periods, int64_t ts_ms, uint64_t count, struct sum sum, double min, double max)
{
	struct metric_period *period = period_at(periods, ts_ms);

	if (period)
		merge(period, count, &sum, min, max);
}

enum status metric_periods_add(struct metric_periods *periods, int64_t ts_ms, double value, struct error *err)
{
	struct metric_period *period = period_at(periods, ts_ms);
	struct sum sum = {0};

	if (!period || !isfinite(value))
		return OK;
	sum_add(&sum, value);
	merge(period, 1, &sum, value, value);
	return periods->keeps_values ? keep(periods, (size_t)(period - periods->items), value, err) : OK;
}

static int compare_values(const void *left, const void *right)
{
	const struct metric_value *a = left, *b = right;

	if (a->period != b->period)
		return a->period < b->period ? -1 : 1;
	return (a->value > b->value) - (a->value < b->value);
}

void metric_periods_sort(struct metric_periods *periods)
{
	size_t first = 0;

	if (periods->value_count)
		qsort(periods->values, periods->value_count, sizeof *periods->values, compare_values);
	for (size_t i = 0; i < periods->count; i++) {
		periods->items[i].first_value = first;
		first += (size_t)periods->items[i].count;
	}
}

/* Between the two values that it lies between. */
static double percentile(const struct metric_value *values, uint64_t count, double percent)
{
	double at = percent / 100 * (double)(count - 1);
	size_t below = (size_t)at;
	double part = at - (double)below;

	if (below + 1 >= count || part <= 0)
		return values[below].value;
	return values[below].value + (values[below + 1].value - values[below].value) * part;
}

double metric_periods_stat(const struct metric_periods *periods, size_t period, const struct metric_stat *stat)
{
	const struct metric_period *item = &periods->items[period];

	switch (stat->kind) {
	case STAT_SAMPLE_COUNT:
		return (double)item->count;
	case STAT_AVERAGE:
		return sum_mean(item->sum, item->count, item->min, item->max);
	case STAT_SUM:
		return sum_value(item->sum);
	case STAT_MINIMUM:
		return item->min;
	case STAT_MAXIMUM:
		return item->max;
	case STAT_PERCENTILE:
		break;
	}
	return percentile(periods->values + item->first_value, item->count, stat->percent);
}
