/*
 * Job: points of one series as a bag: how often each is there, and how many of these were taken out.
 * Ownership: init by zero, done. Threads: one at a time. Pure.
 */
#pragma once

#include "base/alloc.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct point_row {
	int64_t step;
	uint64_t value; /* its bits; all NaN are one, and so are both zeros */
	int64_t ts_ms;
	uint32_t count, taken, pending;
	uint32_t late; /* of count: those that were not there when they were read first */
};

struct point_rows {
	struct point_row *rows; /* by step, value, time */
	size_t count, cap;
	bool has_late;
};

struct point_key {
	int64_t step, ts_ms;
	double value;
};

void point_rows_done(struct point_rows *rows);
AUTO_DONE_TYPE(point_rows)

/* False: out of memory. */
bool point_rows_add(struct point_rows *rows, const struct point_key *key) __attribute__((warn_unused_result));
/* All were added. before: the same series as it was read before, of which what was taken stays so. */
void point_rows_sort(struct point_rows *rows, const struct point_rows *before);
/* One that is there and not taken is pending now; NULL: there is none. is_time_assumed: it may be of any time. */
struct point_row *point_rows_take(struct point_rows *rows, const struct point_key *key, bool is_time_assumed);
/* Who was asked again has what was sent since as well: that is none of what is to come. */
void point_rows_drop_late(struct point_rows *rows);
