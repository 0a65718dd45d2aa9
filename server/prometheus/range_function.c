/* Functions of the points of a window, to the letter of Prometheus 2.42 (promql/functions.go): results are to be the same. */
#include "prometheus/eval.h"

#include <math.h>
#include <stdlib.h>

struct kahan {
	double sum, lost;
};

static void add(struct kahan *kahan, double value)
{
	double sum = kahan->sum + value;

	if (fabs(kahan->sum) >= fabs(value))
		kahan->lost += (kahan->sum - sum) + value;
	else
		kahan->lost += (value - sum) + kahan->sum;
	kahan->sum = sum;
}

static double total(const struct kahan *kahan)
{
	return isinf(kahan->sum) ? kahan->sum : kahan->sum + kahan->lost;
}

static double seconds(int64_t ms)
{
	return (double)ms / 1000;
}

/* What was lost at the resets of a counter. */
static double regained(const struct range_window *window)
{
	double sum = 0, last = 0;

	for (size_t i = 0; i < window->count; i++) {
		if (window->points[i].value < last)
			sum += last;
		last = window->points[i].value;
	}
	return sum;
}

static bool extrapolate(const struct range_window *window, bool is_counter, bool is_rate, double *out)
{
	const struct prom_point *first = window->points, *last = window->points + window->count - 1;

	if (window->count < 2)
		return false;
	double result = last->value - first->value + (is_counter ? regained(window) : 0);
	double to_start = seconds(first->ts_ms - window->from_ms), to_end = seconds(window->to_ms - last->ts_ms);
	double sampled = seconds(last->ts_ms - first->ts_ms), average = sampled / (double)(window->count - 1);
	if (is_counter && result > 0 && first->value >= 0) {
		double to_zero = sampled * (first->value / result); /* a counter was never below 0 */
		to_start = to_zero < to_start ? to_zero : to_start;
	}
	double threshold = average * 1.1, reach = sampled;
	reach += to_start < threshold ? to_start : average / 2;
	reach += to_end < threshold ? to_end : average / 2;
	double factor = reach / sampled;
	*out = result * (is_rate ? factor / seconds(window->to_ms - window->from_ms) : factor);
	return true;
}

static bool last_two(const struct range_window *window, bool is_rate, double *out)
{
	const struct prom_point *last = window->points + window->count - 1;

	if (window->count < 2 || last[0].ts_ms == last[-1].ts_ms)
		return false;
	*out = is_rate && last[0].value < last[-1].value ? last[0].value : last[0].value - last[-1].value;
	if (is_rate)
		*out /= seconds(last[0].ts_ms - last[-1].ts_ms);
	return true;
}

static double mean_of(const struct range_window *window)
{
	struct kahan mean = {0};

	for (size_t i = 0; i < window->count; i++) {
		double value = window->points[i].value, count = (double)(i + 1);
		bool goes_on = isinf(mean.sum) &&
			       (isinf(value) ? (mean.sum > 0) == (value > 0) : !isnan(value)); /* infinite it stays */
		if (!goes_on)
			add(&mean, value / count - mean.sum / count);
	}
	return total(&mean);
}

static double sum_of(const struct range_window *window)
{
	struct kahan sum = {0};

	for (size_t i = 0; i < window->count; i++)
		add(&sum, window->points[i].value);
	return total(&sum);
}

static double extreme_of(const struct range_window *window, int sign)
{
	double best = window->points[0].value;

	for (size_t i = 1; i < window->count; i++)
		if (sign * window->points[i].value > sign * best || isnan(best))
			best = window->points[i].value;
	return best;
}

static double variance_of(const struct range_window *window)
{
	struct kahan mean = {0}, sum = {0};

	for (size_t i = 0; i < window->count; i++) {
		double value = window->points[i].value, delta = value - (mean.sum + mean.lost);
		add(&mean, delta / (double)(i + 1));
		add(&sum, delta * (value - (mean.sum + mean.lost)));
	}
	return (sum.sum + sum.lost) / (double)window->count;
}

static int by_value(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	if (isnan(a) || isnan(b))
		return isnan(b) - isnan(a);
	return (a > b) - (a < b);
}

double quantile_of(double q, double *values, size_t count)
{
	if (!count || isnan(q))
		return NAN;
	if (q < 0 || q > 1)
		return q < 0 ? -INFINITY : INFINITY;
	qsort(values, count, sizeof *values, by_value);
	double rank = q * (double)(count - 1), below = floor(rank), weight = rank - below;
	size_t lower = (size_t)below, upper = lower + 1 < count ? lower + 1 : count - 1;
	return values[lower] * (1 - weight) + values[upper] * weight;
}

static bool quantile(const struct range_window *window, double *out)
{
	AUTO_MEM double *values = mem_alloc(window->count * sizeof *values);

	if (!values)
		return false;
	for (size_t i = 0; i < window->count; i++)
		values[i] = window->points[i].value;
	*out = quantile_of(window->parameter, values, window->count);
	return true;
}

static double count_changes(const struct range_window *window, bool of_resets)
{
	size_t count = 0;

	for (size_t i = 1; i < window->count; i++) {
		double before = window->points[i - 1].value, value = window->points[i].value;
		bool is_change = value != before && !(isnan(value) && isnan(before));
		count += of_resets ? value < before : is_change;
	}
	return (double)count;
}

/* The slope of the line through the points, by the second. */
static bool slope(const struct range_window *window, double *out)
{
	struct kahan x_sum = {0}, y_sum = {0}, xy_sum = {0}, xx_sum = {0};
	double count = (double)window->count, first = window->points[0].value;
	bool is_constant = true;

	if (window->count < 2)
		return false;
	for (size_t i = 0; i < window->count; i++) {
		double x = (double)(window->points[i].ts_ms - window->points[0].ts_ms) / 1e3;
		double y = window->points[i].value;
		is_constant = is_constant && y == first;
		add(&x_sum, x);
		add(&y_sum, y);
		add(&xy_sum, x * y);
		add(&xx_sum, x * x);
	}
	double x = x_sum.sum + x_sum.lost, y = y_sum.sum + y_sum.lost;
	double covariance = xy_sum.sum + xy_sum.lost - x * y / count,
	       variance = xx_sum.sum + xx_sum.lost - x * x / count;
	*out = !is_constant ? covariance / variance : isinf(first) ? NAN : 0;
	return true;
}

static bool statistic(enum promql_id id, const struct range_window *window, double *out)
{
	switch (id) {
	case FN_AVG_OVER_TIME:
		*out = mean_of(window);
		return true;
	case FN_SUM_OVER_TIME:
		*out = sum_of(window);
		return true;
	case FN_MIN_OVER_TIME:
		*out = extreme_of(window, -1);
		return true;
	case FN_MAX_OVER_TIME:
		*out = extreme_of(window, 1);
		return true;
	case FN_COUNT_OVER_TIME:
		*out = (double)window->count;
		return true;
	case FN_LAST_OVER_TIME:
		*out = window->points[window->count - 1].value;
		return true;
	case FN_PRESENT_OVER_TIME:
		*out = 1;
		return true;
	case FN_STDVAR_OVER_TIME:
		*out = variance_of(window);
		return true;
	case FN_STDDEV_OVER_TIME:
		*out = sqrt(variance_of(window));
		return true;
	case FN_QUANTILE_OVER_TIME:
		return quantile(window, out);
	default:
		return false;
	}
}

bool range_value(enum promql_id id, const struct range_window *window, double *out)
{
	if (!window->count)
		return false;
	switch (id) {
	case FN_RATE:
		return extrapolate(window, true, true, out);
	case FN_INCREASE:
		return extrapolate(window, true, false, out);
	case FN_DELTA:
		return extrapolate(window, false, false, out);
	case FN_IRATE:
		return last_two(window, true, out);
	case FN_IDELTA:
		return last_two(window, false, out);
	case FN_CHANGES:
		*out = count_changes(window, false);
		return true;
	case FN_RESETS:
		*out = count_changes(window, true);
		return true;
	case FN_DERIV:
		return slope(window, out);
	default:
		return statistic(id, window, out);
	}
}
