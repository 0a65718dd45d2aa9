/*
 * Job: points of a batch's part: columns a series, in the order of the body.
 * Ownership: names are in the batch's arena, columns are freed with the batch. Threads: one at a time.
 */
#pragma once

#include "model/metrics/batch.h"
#include "model/metrics/batch_series.h"

/* The series of that name in the part, made when it is not there; NULL: out of memory. Valid until the next call. */
struct batch_series *batch_series(struct batch *batch, struct batch_part *part, struct span metric);
/* The same of samples (SERIES_SAMPLES). */
struct batch_series *batch_samples(struct batch *batch, struct batch_part *part, struct span metric);
/* Behind what the part has so far its sender begins anew. False: out of memory. */
bool batch_add_begin(struct batch *batch, struct batch_part *part, int64_t ts_ms) __attribute__((warn_unused_result));
bool batch_has_series(struct batch_part *part, struct span metric);
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
	return series_form_is_distribution(series->form) ? 2 * series->count : series->count;
}
/* Appends count points. False: out of memory, nothing was appended. */
bool batch_add_points(struct batch *batch, struct batch_part *part, struct batch_series *series, const int64_t *steps,
	const int64_t *ts_ms, const double *values, size_t count) __attribute__((warn_unused_result));
