#include "detect/order.h"

#include <stdbool.h>

enum { FEW = 12 };

static void swap(float *a, float *b)
{
	float kept = *a;

	*a = *b;
	*b = kept;
}

/* Hoare's partition about the middle value: returns j such that low..j are at most and j+1..high at least that value. */
static size_t split(float *values, size_t low, size_t high)
{
	float pivot = values[low + (high - low) / 2];
	size_t i = low, j = high;

	for (;; i++, j--) {
		while (values[i] < pivot)
			i++;
		while (values[j] > pivot)
			j--;
		if (i >= j)
			return j;
		swap(&values[i], &values[j]);
	}
}

float order_select(float *values, size_t count, size_t k)
{
	size_t low = 0, high = count - 1;

	while (low < high) {
		size_t middle = split(values, low, high);
		if (k <= middle)
			high = middle;
		else
			low = middle + 1;
	}
	return values[k];
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

/* The largest of the smaller half, once that is split off. */
static float largest_of(const float *values, size_t count)
{
	float largest = values[0];

	for (size_t i = 1; i < count; i++)
		largest = values[i] > largest ? values[i] : largest;
	return largest;
}

double order_median(float *values, size_t count)
{
	size_t half = count / 2;
	bool is_sorted = count <= FEW;

	if (count == 8)
		sort_eight(values);
	else if (is_sorted)
		sort(values, count);
	double middle = (double)(is_sorted ? values[half] : order_select(values, count, half));
	if (count % 2)
		return middle;
	return ((double)(is_sorted ? values[half - 1] : largest_of(values, half)) + middle) / 2;
}
