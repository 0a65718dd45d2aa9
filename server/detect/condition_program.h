/*
 * Job: what a parsed expression is: a program for a small stack. Internal to detect/.
 * Ownership: the expression's. Threads: immutable.
 */
#pragma once

#include "detect/condition_limits.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum condition_op {
	CONDITION_NUMBER,
	CONDITION_LAST, /* of the series: the point itself, and figures over all finite points so far */
	CONDITION_MIN,
	CONDITION_MAX,
	CONDITION_MEAN,
	CONDITION_COUNT,
	CONDITION_WINDOW_MEDIAN, /* of the finite points before this one */
	CONDITION_WINDOW_MEAN,
	CONDITION_WINDOW_MIN,
	CONDITION_WINDOW_MAX_OP,
	CONDITION_ADD,
	CONDITION_SUBTRACT,
	CONDITION_MULTIPLY,
	CONDITION_DIVIDE,
	CONDITION_NEGATE,
	CONDITION_LESS, /* from here on truths, as 0 and 1 */
	CONDITION_AT_MOST,
	CONDITION_MORE,
	CONDITION_AT_LEAST,
	CONDITION_EQUAL,
	CONDITION_NOT_EQUAL,
	CONDITION_AND,
	CONDITION_OR,
	CONDITION_NOT
};

struct condition_step {
	enum condition_op op;
	double number;
	unsigned window; /* its index */
};

enum condition_unit { CONDITION_POINTS, CONDITION_STEPS, CONDITION_MS };

struct condition {
	struct condition_step steps[CONDITION_STEPS_MAX];
	size_t step_count;
	uint32_t windows[CONDITION_WINDOWS]; /* how many points each holds */
	bool is_sorted[CONDITION_WINDOWS]; /* a median, minimum or maximum is asked of it */
	size_t window_count;
	char metric[CONDITION_MAX_BYTES];
	size_t metric_len;
	enum condition_unit unit;
	int64_t lasting; /* true over so many, before it is said; 0: at once */
};
