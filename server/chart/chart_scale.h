/*
 * Job: from a value to its place on an axis, round ticks, and what they are called. Pure.
 * Ownership: the caller's. Threads: any.
 */
#pragma once

#include "read/charts/chart_query.h"

enum { SCALE_TICKS_MAX = 64, SCALE_TEXT_BYTES = 32 };

struct scale {
	double low, high; /* low < high; both > 0 where it is logarithmic */
	double from_px, to_px;
	bool is_log;
};

struct scale_ticks {
	size_t count;
	double step; /* between them; 0: of no even distance */
	double at[SCALE_TICKS_MAX];
};

/* Room around the values; equal ones lie in the middle. Nothing finite (low > high): 0 to 1. */
void scale_pad(double *low, double *high, bool is_log);
double scale_place(const struct scale *scale, double value);

/* 1, 2 or 5 times a power of ten apart, at most `most` of them. */
void scale_ticks_even(double low, double high, size_t most, struct scale_ticks *out);
void scale_ticks_log(double low, double high, size_t most, struct scale_ticks *out);
/* Of times and of durations in milliseconds: whole seconds, minutes, hours, days. */
void scale_ticks_time(double low, double high, size_t most, struct scale_ticks *out);

void scale_text_value(double value, double step, char out[SCALE_TEXT_BYTES]);
/* Steps as they are; times in UTC; durations by their two largest units. */
void scale_text_x(enum chart_axis axis, double x, double step, char out[SCALE_TEXT_BYTES]);
