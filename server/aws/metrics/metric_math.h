/*
 * Job: expressions of GetMetricData over series of periods: numbers, + - * / ^, parentheses, ids, [lists], METRICS(), and the functions
 *      ABS CEIL FLOOR LOG LOG10 (each value), DIFF RATE RUNNING_SUM FILL PERIOD (a series), AVG MAX MIN STDDEV SUM (a series to a number,
 *      a list to a series). Others are refused by name.
 * Ownership: a value owns its series; init by {0}, done. Threads: values.
 * Source: docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/using-metric-math.html
 */
#pragma once

#include "base/alloc.h"
#include "base/error.h"
#include "base/span.h"

enum { MATH_EXPRESSION_MAX_BYTES = 2048, MATH_MAX_DEPTH = 32, MATH_MAX_REFERENCES = 200 };

struct math_series {
	int64_t *ts_ms; /* ascending */
	double *values; /* finite */
	size_t count;
	int64_t period_ms;
	int64_t first_ms, until_ms; /* where the periods that were asked begin and end */
};

enum math_kind { MATH_NUMBER, MATH_SERIES, MATH_LIST };

struct math_value {
	enum math_kind kind;
	double number;
	struct math_series *series; /* one of SERIES */
	size_t count;
};

void math_value_done(struct math_value *value);
/* One more series, for count points. NULL: out of memory. */
struct math_series *math_value_add(struct math_value *value, size_t count);

struct math_names {
	/* Fills *out with a copy of the series called id; ERR_SEMANTIC: there is none. */
	enum status (*find)(void *context, struct span id, struct math_value *out, struct error *err);
	/* All that are no expressions, of those ids that hold `part`. */
	enum status (*list)(void *context, struct span part, struct math_value *out, struct error *err);
	void *context;
};

/* *out is a SERIES. ERR_SEMANTIC says what is wrong, and at which character. */
enum status metric_math_run(
	struct span expression, const struct math_names *names, struct math_value *out, struct error *err) MUST_CHECK;

AUTO_DONE_TYPE(math_value)
