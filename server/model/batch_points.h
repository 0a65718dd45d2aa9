/*
 * Job: points of a batch's part: columns a series, in the order of the body.
 * Ownership: names are in the batch's arena, columns are freed with the batch. Threads: one at a time.
 */
#pragma once

#include "model/batch.h"

#define NO_STEP INT64_MIN

struct batch_series {
	struct span metric; /* canonical, with its labels */
	struct span unit;
	uint32_t role; /* of enum role; ROLE_COUNT: to be guessed from the name */
	int64_t *steps; /* NO_STEP: the series' own count */
	int64_t *ts_ms;
	double *values;
	size_t count, cap;
};

/* The series of that name in the part, made when it is not there; NULL: out of memory. Valid until the next call. */
struct batch_series *batch_series(struct batch *batch, struct batch_part *part, struct span metric);
/* Appends count points. False: out of memory, nothing was appended. */
bool batch_add_points(struct batch *batch, struct batch_part *part, struct batch_series *series, const int64_t *steps,
	const int64_t *ts_ms, const double *values, size_t count) __attribute__((warn_unused_result));
size_t batch_points_bytes(const struct batch *batch); /* memory of the columns */
void batch_part_drop_points(struct batch_part *part); /* frees the columns; their number stays known */
