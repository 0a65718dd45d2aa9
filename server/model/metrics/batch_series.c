#include "model/metrics/batch_series.h"

#include "base/alloc.h"

size_t batch_series_bytes(const struct batch_series *series, size_t count, size_t cap)
{
	size_t bytes = cap * sizeof *series;

	for (size_t i = 0; i < count; i++)
		bytes += series[i].cap *
			 (series_form_is_distribution(series[i].form) ? SERIES_TOTAL_BYTES : SERIES_POINT_BYTES);
	return bytes;
}

void batch_series_free(struct batch_series *series, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		mem_free(series[i].steps);
		mem_free(series[i].ts_ms);
		mem_free(series[i].values);
		mem_free(series[i].counts);
		mem_free(series[i].starts_ms);
	}
	mem_free(series);
}
