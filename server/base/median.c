#include "base/median.h"

#include <math.h>
#include <stdlib.h>

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double median_of(double *values, size_t count)
{
	if (!count)
		return NAN;
	qsort(values, count, sizeof *values, by_value);
	return count % 2 ? values[count / 2] : values[count / 2 - 1] / 2 + values[count / 2] / 2; /* no sum overflows */
}
