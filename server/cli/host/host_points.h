/*
 * Job: figures of a machine as lines of points, "@TS TAB object": by TS the sender passes over what the server has.
 * Ownership: the buf is the caller's. Threads: one at a time.
 */
#pragma once

#include "base/buf.h"

struct host_points {
	struct buf *out;
	int64_t ts_ms;
};

/* label NULL: none; else the series is metric{label="value"}. */
void host_points_put(const struct host_points *points, const char *metric, const char *label,
	struct span value_of_label, double value);
