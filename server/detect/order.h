/*
 * Job: the k-th smallest of some values, and their median. Pure; the values hold no NaN.
 * Ownership: the caller's. Threads: any. Internal to detect/.
 */
#pragma once

#include <stddef.h>

enum { ORDER_MOST = 128 }; /* values */

float order_select(const float *values, size_t count, size_t k);
/* The mean of the middle two of an even number. At least one value; they may be reordered. */
double order_median(float *values, size_t count);
