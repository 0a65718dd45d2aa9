/*
 * Job: the columns of one series in a batch.
 * Ownership: names are in the batch's arena, columns are freed with the batch. Threads: one at a time.
 */
#pragma once

#include "base/span.h"

#define NO_STEP INT64_MIN
/* A 0 whose sender also sends it for none, as MLflow's clients do: the series' own count, until it has said another step. */
#define STEP_0_OR_NONE (INT64_MIN + 1)
static inline bool step_is_said(int64_t step)
{
	return step > STEP_0_OR_NONE;
}

/*
 * What its entries are. A distribution (histogram, summary) comes as the sum and the number of what was observed: in each interval,
 * or since the counting began. Its mean is the metric; its parts are NAME.sum and NAME.count, in Prometheus' manner NAME_sum.
 * Samples are values by the clock: of each series one at a time, in the order of time; what is no newer than the last one is there.
 */
enum series_form {
	SERIES_VALUES,
	SERIES_INTERVALS,
	SERIES_TOTALS,
	SERIES_TOTALS_PROMETHEUS,
	SERIES_SAMPLES,
	SERIES_BEGIN, /* no series: from here on its sender begins anew, as a process does that was started again */
	SERIES_FORM_COUNT /* the journal holds these numbers: append only */
};
static inline bool series_form_is_distribution(enum series_form form)
{
	return form == SERIES_INTERVALS || form == SERIES_TOTALS || form == SERIES_TOTALS_PROMETHEUS;
}

struct batch_series {
	struct span metric; /* canonical, with its labels; of a distribution its mean's */
	struct span key; /* metric and form */
	enum series_form form;
	struct span unit;
	uint32_t role; /* of enum role; ROLE_COUNT: to be guessed from the name */
	int64_t *steps; /* NO_STEP: the series' own count; or STEP_0_OR_NONE */
	int64_t *ts_ms;
	double *values; /* of a distribution the sums */
	double *counts; /* of a distribution; else NULL */
	int64_t *starts_ms; /* of a distribution, NO_TIME: not known; else NULL */
	size_t count, cap;
};

enum { SERIES_POINT_BYTES = 24, SERIES_TOTAL_BYTES = 40 }; /* of an entry, in its columns */

/* Memory of an array of series; the array itself counts with `cap`. */
size_t batch_series_bytes(const struct batch_series *series, size_t count, size_t cap);
void batch_series_free(struct batch_series *series, size_t count);
