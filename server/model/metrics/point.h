/*
 * Job: one measured value, and what a series of them amounts to. Plain values.
 */
#pragma once

#include "base/span.h"

#include <float.h>
#include <math.h>

#define NO_LINE UINT64_MAX

struct point {
	int64_t step;
	int64_t ts_ms; /* log time, Unix milliseconds */
	double value; /* NaN and infinities are values */
	uint64_t line; /* of the stream; NO_LINE when it did not come from one */
	uint32_t attempt; /* of the training, from 1: a restart begins the next (extract/attempt.h) */
	uint32_t
		in_epoch; /* steps of its epoch so far, as far as its line counts them; 0: it does not. For the detectors: not kept */
};

/* The step is the line's own, and not counted on from earlier epochs: the next training would begin with a low one again. */
static inline bool point_says_its_step(const struct point *point)
{
	return point->in_epoch && (int64_t)point->in_epoch == point->step + 1;
}

/*
 * Of finite values. Huge ones are added up apart, in a smaller scale: so no sum of 2^63 values overflows, and the small ones beside huge ones
 * that cancel are not lost.
 */
struct sum {
	double plain; /* what is below SUM_HUGE in amount */
	double huge; /* the others, times SUM_SCALE */
};

#define SUM_HUGE 0x1p900
#define SUM_SCALE 0x1p-100

static inline void sum_add(struct sum *sum, double value)
{
	if (fabs(value) < SUM_HUGE)
		sum->plain += value;
	else
		sum->huge += value * SUM_SCALE;
}

static inline void sum_merge(struct sum *into, const struct sum *from)
{
	into->plain += from->plain;
	into->huge += from->huge;
}

static inline struct sum sum_scaled(struct sum sum, double factor)
{
	return (struct sum){sum.plain * factor, sum.huge * factor};
}

/* An infinity where it is beyond the largest double. */
static inline double sum_value(struct sum sum)
{
	return sum.plain + sum.huge / SUM_SCALE;
}

/* Of `count` values from min to max, beyond which a rounded mean does not lie, nor that of a sum that an older program let overflow. */
static inline double sum_mean(struct sum sum, uint64_t count, double min, double max)
{
	double n = (double)count, mean = sum.plain / n + sum.huge / n / SUM_SCALE;

	return fmin(fmax(mean, min), max);
}

/* Sums over finite values; counts say how many were not. */
struct summary {
	uint64_t count;
	uint64_t nan_count;
	uint64_t inf_count;
	double last; /* of any kind */
	double min; /* of finite values; meaningless while count == nan_count + inf_count */
	double max;
	struct sum sum;
	int64_t first_step; /* of the first and the last point to come */
	int64_t last_step;
	int64_t last_ts_ms;
};

static inline void summary_add(struct summary *s, const struct point *p)
{
	if (s->count == 0)
		s->first_step = p->step;
	if (isnan(p->value)) {
		s->nan_count++;
	} else if (isinf(p->value)) {
		s->inf_count++;
	} else {
		bool is_first = s->count == s->nan_count + s->inf_count;
		s->min = is_first || p->value < s->min ? p->value : s->min;
		s->max = is_first || p->value > s->max ? p->value : s->max;
		sum_add(&s->sum, p->value);
	}
	s->count++;
	s->last = p->value;
	s->last_step = p->step;
	s->last_ts_ms = p->ts_ms;
}

static inline bool summary_has_finite(const struct summary *s)
{
	return s->count > s->nan_count + s->inf_count;
}

static inline double summary_mean(const struct summary *s)
{
	return summary_has_finite(s) ? sum_mean(s->sum, s->count - s->nan_count - s->inf_count, s->min, s->max) : NAN;
}

/* steps[i]: where attempt i + 1 opened, on a series' step axis; INT64_MAX: nowhere on it yet. */
struct attempt_starts {
	const int64_t *steps;
	size_t count;
};

/* A point is superseded when a later attempt began at or before its step. */
static inline bool point_is_superseded(const struct point *p, struct attempt_starts starts)
{
	for (size_t i = p->attempt; i < starts.count; i++)
		if (starts.steps[i] <= p->step)
			return true;
	return false;
}
