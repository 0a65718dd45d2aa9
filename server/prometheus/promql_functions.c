#include "prometheus/promql.h"

#define RANGE(name, id)                                                                                                \
	{                                                                                                              \
		name, id, false, 1, 1, {PROMQL_MATRIX}, PROMQL_VECTOR                                                  \
	}
#define EACH(name, id)                                                                                                 \
	{                                                                                                              \
		name, id, false, 1, 1, {PROMQL_VECTOR}, PROMQL_VECTOR                                                  \
	}
#define AGGREGATION(name, id)                                                                                          \
	{                                                                                                              \
		name, id, true, 1, 1, {PROMQL_VECTOR}, PROMQL_VECTOR                                                   \
	}
#define AGGREGATION_OF(name, id)                                                                                       \
	{                                                                                                              \
		name, id, true, 2, 2, {PROMQL_SCALAR, PROMQL_VECTOR}, PROMQL_VECTOR                                    \
	}

static const struct promql_function functions[] = {
	RANGE("rate", FN_RATE),
	RANGE("increase", FN_INCREASE),
	RANGE("delta", FN_DELTA),
	RANGE("irate", FN_IRATE),
	RANGE("idelta", FN_IDELTA),
	RANGE("avg_over_time", FN_AVG_OVER_TIME),
	RANGE("sum_over_time", FN_SUM_OVER_TIME),
	RANGE("min_over_time", FN_MIN_OVER_TIME),
	RANGE("max_over_time", FN_MAX_OVER_TIME),
	RANGE("count_over_time", FN_COUNT_OVER_TIME),
	RANGE("last_over_time", FN_LAST_OVER_TIME),
	RANGE("present_over_time", FN_PRESENT_OVER_TIME),
	RANGE("stddev_over_time", FN_STDDEV_OVER_TIME),
	RANGE("stdvar_over_time", FN_STDVAR_OVER_TIME),
	{"quantile_over_time", FN_QUANTILE_OVER_TIME, false, 2, 2, {PROMQL_SCALAR, PROMQL_MATRIX}, PROMQL_VECTOR},
	RANGE("changes", FN_CHANGES),
	RANGE("resets", FN_RESETS),
	RANGE("deriv", FN_DERIV),
	RANGE("bytes_over_time", FN_BYTES_OVER_TIME),
	RANGE("bytes_rate", FN_BYTES_RATE),
	EACH("abs", FN_ABS),
	EACH("ceil", FN_CEIL),
	EACH("floor", FN_FLOOR),
	EACH("exp", FN_EXP),
	EACH("ln", FN_LN),
	EACH("log2", FN_LOG2),
	EACH("log10", FN_LOG10),
	EACH("sqrt", FN_SQRT),
	EACH("sgn", FN_SGN),
	{"round", FN_ROUND, false, 1, 2, {PROMQL_VECTOR, PROMQL_SCALAR}, PROMQL_VECTOR},
	{"clamp", FN_CLAMP, false, 3, 3, {PROMQL_VECTOR, PROMQL_SCALAR, PROMQL_SCALAR}, PROMQL_VECTOR},
	{"clamp_min", FN_CLAMP_MIN, false, 2, 2, {PROMQL_VECTOR, PROMQL_SCALAR}, PROMQL_VECTOR},
	{"clamp_max", FN_CLAMP_MAX, false, 2, 2, {PROMQL_VECTOR, PROMQL_SCALAR}, PROMQL_VECTOR},
	EACH("timestamp", FN_TIMESTAMP),
	EACH("absent", FN_ABSENT),
	{"scalar", FN_SCALAR, false, 1, 1, {PROMQL_VECTOR}, PROMQL_SCALAR},
	{"vector", FN_VECTOR, false, 1, 1, {PROMQL_SCALAR}, PROMQL_VECTOR},
	{"time", FN_TIME, false, 0, 0, {PROMQL_SCALAR}, PROMQL_SCALAR},
	EACH("sort", FN_SORT),
	EACH("sort_desc", FN_SORT_DESC),
	{"histogram_quantile", FN_HISTOGRAM_QUANTILE, false, 2, 2, {PROMQL_SCALAR, PROMQL_VECTOR}, PROMQL_VECTOR},
	AGGREGATION("sum", FN_SUM),
	AGGREGATION("avg", FN_AVG),
	AGGREGATION("min", FN_MIN),
	AGGREGATION("max", FN_MAX),
	AGGREGATION("count", FN_COUNT),
	AGGREGATION("group", FN_GROUP),
	AGGREGATION("stddev", FN_STDDEV),
	AGGREGATION("stdvar", FN_STDVAR),
	AGGREGATION_OF("topk", FN_TOPK),
	AGGREGATION_OF("bottomk", FN_BOTTOMK),
	AGGREGATION_OF("quantile", FN_QUANTILE),
};

static const char *const elsewhere[] = {"absent_over_time", "acos", "acosh", "asin", "asinh", "atan", "atanh", "cos",
	"cosh", "count_values", "day_of_month", "day_of_week", "day_of_year", "days_in_month", "deg", "histogram_count",
	"histogram_fraction", "histogram_sum", "holt_winters", "hour", "label_join", "label_replace", "minute", "month",
	"pi", "predict_linear", "rad", "sin", "sinh", "tan", "tanh", "year"};

const struct promql_function *promql_function_find(struct span name)
{
	for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
		if (span_equal(name, span_from(functions[i].name)))
			return &functions[i];
	return NULL;
}

bool promql_function_is_elsewhere(struct span name)
{
	for (size_t i = 0; i < sizeof elsewhere / sizeof *elsewhere; i++)
		if (span_equal(name, span_from(elsewhere[i])))
			return true;
	return false;
}

bool promql_function_is_of_lines(const struct promql_function *function)
{
	return function->id == FN_BYTES_OVER_TIME || function->id == FN_BYTES_RATE;
}

bool promql_function_counts_lines(const struct promql_function *function)
{
	return function->id == FN_COUNT_OVER_TIME || function->id == FN_RATE || promql_function_is_of_lines(function);
}
