#include "detect/order.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { FEW = 12, MANY = 48, SAMPLE = 9, LANES = 4 };

typedef float floats __attribute__((vector_size(LANES * sizeof(float))));
typedef int32_t counts __attribute__((vector_size(LANES * sizeof(int32_t))));

static float middle_of(float a, float b, float c)
{
	float low = a < b ? a : b, high = a < b ? b : a;

	return c < low ? low : c > high ? high : c;
}

/* Insertion: of few values it is the fastest. */
static void sort(float *values, size_t count)
{
	for (size_t i = 1; i < count; i++) {
		float value = values[i];
		size_t at = i;
		for (; at > 0 && values[at - 1] > value; at--)
			values[at] = values[at - 1];
		values[at] = value;
	}
}

/*
 * Each value is written at both ends, and one end goes on: what is less than the pivot stays at the front, what is more at
 * the back. There is no branch on a value, which no processor foresees. A NaN counts as equal.
 */
static float select_few(const float *values, size_t count, size_t k)
{
	float room[2][ORDER_MOST], *out = room[0], *other = room[1];

	for (;;) {
		float pivot = middle_of(values[0], values[count / 2], values[count - 1]);
		size_t low = 0, high = count - 1;
		for (size_t i = 0; i < count; i++) {
			float value = values[i];
			out[low] = out[high] = value;
			low += value < pivot;
			high -= value > pivot;
		}
		if (k >= low && k <= high)
			return pivot;
		bool is_low = k < low;
		values = is_low ? out : out + high + 1;
		k -= is_low ? 0 : high + 1;
		count = is_low ? low : count - high - 1;
		out = other;
		other = room[out == room[0]];
	}
}

/* How many are less. */
static size_t count_below(const float *values, size_t count, float bar)
{
	counts below = {0};
	floats bars = {bar, bar, bar, bar}, some;
	size_t at = 0, rest = 0;

	for (; at + LANES <= count; at += LANES) {
		memcpy(&some, values + at, sizeof some);
		below -= some < bars;
	}
	for (; at < count; at++)
		rest += values[at] < bar;
	return (size_t)(below[0] + below[1] + below[2] + below[3]) + rest;
}

/* Those between two of a sample, among which the k-th is; *passed are less. It is looked for by counting: to move values is dearer. */
static size_t narrow(const float *values, size_t count, size_t k, float *out, size_t *passed)
{
	float sample[SAMPLE];
	size_t first = 0, last = SAMPLE, kept = 0;

	for (size_t i = 0; i < SAMPLE; i++)
		sample[i] = values[(2 * i + 1) * count / (2 * SAMPLE)];
	sort(sample, SAMPLE);
	*passed = 0;
	while (first < last) { /* not below sample[first - 1], and below sample[last] */
		size_t middle = (first + last) / 2, below = count_below(values, count, sample[middle]);
		if (below > k) {
			last = middle;
		} else {
			first = middle + 1;
			*passed = below;
		}
	}
	float low = first ? sample[first - 1] : -HUGE_VALF, high = last < SAMPLE ? sample[last] : HUGE_VALF;
	for (size_t i = 0; i < count; i++) {
		out[kept] = values[i];
		kept += (values[i] >= low) & ((values[i] < high) | (last == SAMPLE));
	}
	return kept;
}

float order_select(const float *values, size_t count, size_t k)
{
	float near[ORDER_MOST + 1];
	size_t passed;

	if (count < MANY)
		return select_few(values, count, k);
	size_t kept = narrow(values, count, k, near, &passed);
	/* a NaN is in no order: then it is somewhere */
	return k - passed < kept ? select_few(near, kept, k - passed) : select_few(values, count, k);
}

/* Puts two into order, without a branch. */
static void exchange(float *values, size_t i, size_t j)
{
	float a = values[i], b = values[j];

	values[i] = a < b ? a : b;
	values[j] = a < b ? b : a;
}

/* The network of 19 exchanges for eight values. */
static void sort_eight(float *values)
{
	static const unsigned char pairs[19][2] = {{0, 2}, {1, 3}, {4, 6}, {5, 7}, {0, 4}, {1, 5}, {2, 6}, {3, 7},
		{0, 1}, {2, 3}, {4, 5}, {6, 7}, {2, 4}, {3, 5}, {1, 4}, {3, 6}, {1, 2}, {3, 4}, {5, 6}};

#pragma GCC unroll 19
	for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++)
		exchange(values, pairs[i][0], pairs[i][1]);
}

/* What stands in front of the middle, were they in order. */
static float before_middle(const float *values, size_t count, float middle)
{
	float largest = 0;
	size_t less = 0;

	for (size_t i = 0; i < count; i++) {
		if (values[i] >= middle)
			continue;
		largest = !less || values[i] > largest ? values[i] : largest;
		less++;
	}
	return less == count / 2 ? largest : middle;
}

double order_median(float *values, size_t count)
{
	size_t half = count / 2;
	bool is_sorted = count <= FEW;

	if (count == 8)
		sort_eight(values);
	else if (is_sorted)
		sort(values, count);
	float middle = is_sorted ? values[half] : order_select(values, count, half);
	if (count % 2)
		return (double)middle;
	return ((double)(is_sorted ? values[half - 1] : before_middle(values, count, middle)) + (double)middle) / 2;
}
