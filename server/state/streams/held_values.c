#include "state/streams/held_values.h"

#include "base/alloc.h"

void held_series_done(struct held_series *series)
{
	mem_free(series->metric);
	mem_free(series->unit);
	mem_free(series->values);
	*series = (struct held_series){0};
}

void held_values_done(struct held_values *held)
{
	for (size_t i = 0; i < held->count; i++)
		held_series_done(&held->series[i]);
	mem_free(held->series);
	*held = (struct held_values){0};
}
