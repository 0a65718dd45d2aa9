#include "detect/order.h"

#include <stdbool.h>

enum { FEW = 12 };

static float middle_of(float a, float b, float c)
{
	float low = a < b ? a : b, high = a < b ? b : a;

	return c < low ? low : c > high ? high : c;
}

/*
 * Each value is written at both ends, and one end goes on: what is less than the pivot stays at the front, what is more at
 * the back. There is no branch on a value, which no processor foresees. A NaN counts as equal.
 */
float order_select(const float *values, size_t count, size_t k)
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
