/*
 * Job: which points a chart, a heat map or a download is about.
 * Ownership: spans are the caller's. Threads: any.
 */
#pragma once

#include "base/span.h"

enum chart_axis {
	AXIS_STEP,
	AXIS_TIME,
	AXIS_RELATIVE,
	AXIS_TOKENS, /* these two are charts of work_axis.h alone */
	AXIS_FLOPS
};

enum { ATTEMPTS_LIVE = -1, ATTEMPTS_ALL = -2 };

struct chart_query {
	struct span metric; /* its name, or a role: "loss" */
	struct span stream; /* "": folded over all */
	enum chart_axis axis;
	int64_t from; /* inclusive; INT64_MIN: from the first */
	int64_t to; /* inclusive; INT64_MAX: to the last */
	double work_from, work_to; /* the same of AXIS_TOKENS and AXIS_FLOPS; infinite: from the first, to the last */
	size_t buckets;
	int attempts; /* ATTEMPTS_LIVE, ATTEMPTS_ALL or a number */
};
