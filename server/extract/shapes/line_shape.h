/*
 * Job: a shape of line that bears numbers, and the metric definitions that read it (shapes.h finds them).
 * Ownership: in the arena of who found it. Threads: values.
 */
#pragma once

#include "model/metrics/metric.h"

enum {
	SHAPES_MAX = 6, /* found */
	SHAPE_METRICS_MAX = 12, /* of one shape */
	SHAPE_LINES_LEAST = 5, /* of it; fewer are no curve */
	SHAPES_LINES_MAX = 8192 /* looked at, with the parts of progress bars; what is behind them is not */
};

struct shape_metric {
	struct metric_definition definition; /* Name, Regex, Step where a counter stands on the line, Unit, Role */
	uint64_t matched; /* lines of the shape where it found its number */
	size_t start, end; /* of the number in the example */
	double value; /* there */
};

struct line_shape {
	uint64_t count; /* lines, or parts of progress bars */
	size_t line; /* the example's: the last one */
	struct span example; /* without escape sequences */
	bool has_step;
	size_t step_start, step_end; /* in the example */
	int64_t step; /* there */
	struct shape_metric *metrics;
	size_t metric_count;
	struct metric_definition
		heading; /* of the line above that says the step, where none stands on these; regex "": there is none */
};
