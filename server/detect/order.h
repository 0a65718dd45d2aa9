/*
 * Job: the k-th smallest of some values, and their median. Pure; the values are reordered, and hold no NaN.
 * Ownership: the caller's. Threads: any. Internal to detect/.
 */
#pragma once

#include <stddef.h>

float order_select(float *values, size_t count, size_t k);
/* The mean of the middle two of an even number. At least one value. */
double order_median(float *values, size_t count);
