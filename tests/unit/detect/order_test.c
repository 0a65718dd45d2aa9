/* The k-th smallest value, against a sort of all. */
#include "detect/order.h"
#include "test.h"

#include <math.h>
#include <stdlib.h>

static int by_value(const void *a, const void *b)
{
	float x = *(const float *)a, y = *(const float *)b;

	return (x > y) - (x < y);
}

/* As many different ones as `kinds`: of few, many are equal. */
static void fill(float *values, size_t count, uint64_t kinds, uint64_t *state)
{
	for (size_t i = 0; i < count; i++) {
		*state = *state * 6364136223846793005u + 1442695040888963407u;
		values[i] = ((float)((*state >> 33) % kinds) - 2) * 1e20f;
	}
}

static void check_all(const float *values, size_t count)
{
	float sorted[ORDER_MOST], copy[ORDER_MOST];

	memcpy(sorted, values, count * sizeof *values);
	qsort(sorted, count, sizeof *sorted, by_value);
	for (size_t k = 0; k < count; k++)
		CHECK_DOUBLE((double)order_select(values, count, k), (double)sorted[k]);
	memcpy(copy, values, count * sizeof *values);
	double low = (double)sorted[(count - 1) / 2], high = (double)sorted[count / 2];
	CHECK_DOUBLE(order_median(copy, count), count % 2 ? high : (low + high) / 2);
}

TEST(the_kth_value_is_that_of_a_sort)
{
	static const uint64_t kinds[] = {1, 2, 5, 40, 1 << 30};
	float values[ORDER_MOST];
	uint64_t state = 1;

	for (size_t count = 1; count <= ORDER_MOST; count++)
		for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
			fill(values, count, kinds[i], &state);
			check_all(values, count);
		}
}

TEST(values_that_are_in_order_already_or_in_reverse)
{
	float rising[ORDER_MOST], falling[ORDER_MOST];

	for (size_t i = 0; i < ORDER_MOST; i++) {
		rising[i] = (float)i;
		falling[i] = -(float)i;
	}
	check_all(rising, ORDER_MOST);
	check_all(falling, ORDER_MOST);
}
