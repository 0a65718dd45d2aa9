/*
 * Job: the median of some numbers. Pure; no NaN among them.
 * Ownership: the caller's. Threads: any.
 */
#pragma once

#include <stddef.h>

/* Sorts them; the mean of the middle two of an even number. NaN: there are none. */
double median_of(double *values, size_t count);
