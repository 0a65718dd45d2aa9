/*
 * Job: what a parsed expression is: a program for a small stack. Internal to detect/.
 * Ownership: the expression's. Threads: immutable.
 */
#pragma once

#include "detect/expression.h"

enum expression_op {
	EXPRESSION_NUMBER,
	EXPRESSION_LAST, /* of the series: the point itself, and figures over all finite points so far */
	EXPRESSION_MIN,
	EXPRESSION_MAX,
	EXPRESSION_MEAN,
	EXPRESSION_COUNT,
	EXPRESSION_WINDOW_MEDIAN, /* of the finite points before this one */
	EXPRESSION_WINDOW_MEAN,
	EXPRESSION_WINDOW_MIN,
	EXPRESSION_WINDOW_MAX_OP,
	EXPRESSION_ADD,
	EXPRESSION_SUBTRACT,
	EXPRESSION_MULTIPLY,
	EXPRESSION_DIVIDE,
	EXPRESSION_NEGATE,
	EXPRESSION_LESS, /* from here on truths, as 0 and 1 */
	EXPRESSION_AT_MOST,
	EXPRESSION_MORE,
	EXPRESSION_AT_LEAST,
	EXPRESSION_EQUAL,
	EXPRESSION_NOT_EQUAL,
	EXPRESSION_AND,
	EXPRESSION_OR,
	EXPRESSION_NOT
};

struct expression_step {
	enum expression_op op;
	double number;
	unsigned window; /* its index */
};

enum expression_unit { EXPRESSION_POINTS, EXPRESSION_STEPS, EXPRESSION_MS };

struct expression {
	struct expression_step steps[EXPRESSION_STEPS_MAX];
	size_t step_count;
	uint32_t windows[EXPRESSION_WINDOWS]; /* how many points each holds */
	bool is_sorted[EXPRESSION_WINDOWS]; /* a median, minimum or maximum is asked of it */
	size_t window_count;
	char metric[EXPRESSION_MAX_BYTES];
	size_t metric_len;
	enum expression_unit unit;
	int64_t lasting; /* true over so many, before it is said; 0: at once */
};
