/*
 * Job: points of a batch's part: columns a series, in the order of the body.
 * Ownership: names are in the batch's arena, columns are freed with the batch. Threads: one at a time.
 */
#pragma once

#include "model/metrics/batch.h"

#define NO_STEP INT64_MIN

/*
 * What its entries are. A distribution (histogram, summary) comes as the sum and the number of what was observed: in each interval,
 * or since the counting began. Its mean is the metric; its parts are NAME.sum and NAME.count, in Prometheus' manner NAME_sum.
 */
enum series_form { SERIES_VALUES, SERIES_INTERVALS, SERIES_TOTALS, SERIES_TOTALS_PROMETHEUS, SERIES_FORM_COUNT };

struct batch_series {
	struct span metric; /* canonical, with its labels; of a distribution its mean's */
	struct span key; /* metric and form */
	enum series_form form;
	struct span unit;
	uint32_t role; /* of enum role; ROLE_COUNT: to be guessed from the name */
	int64_t *steps; /* NO_STEP: the series' own count */
	int64_t *ts_ms;
	double *values; /* of a distribution the sums */
	double *counts; /* of a distribution; else NULL */
	int64_t *starts_ms; /* of a distribution, NO_TIME: not known; else NULL */
	size_t count, cap;
};

/* The series of that name in the part, made when it is not there; NULL: out of memory. Valid until the next call. */
struct batch_series *batch_series(struct batch *batch, struct batch_part *part, struct span metric);
struct batch_series *batch_distribution(
	struct batch *batch, struct batch_part *part, struct span metric, enum series_form form);
/* One entry of a distribution. False: out of memory, nothing was appended. */
struct batch_total {
	int64_t step, ts_ms, start_ms;
	double sum, count;
};
bool batch_add_total(struct batch *batch, struct batch_part *part, struct batch_series *series,
	const struct batch_total *total) __attribute__((warn_unused_result));
/* How many points its entries are: of a distribution each is two. */
static inline size_t batch_series_points(const struct batch_series *series)
{
	return series->form == SERIES_VALUES ? series->count : 2 * series->count;
}
/* Appends count points. False: out of memory, nothing was appended. */
bool batch_add_points(struct batch *batch, struct batch_part *part, struct batch_series *series, const int64_t *steps,
	const int64_t *ts_ms, const double *values, size_t count) __attribute__((warn_unused_result));
size_t batch_points_bytes(const struct batch *batch); /* memory of the columns */
void batch_part_drop_points(struct batch_part *part); /* frees the columns; their number stays known */
