#include "prometheus/reading.h"

#include "base/alloc.h"
#include "base/clock.h"

enum status budget_check(const struct prom_budget *budget, struct error *err)
{
	if (clock_mono_ms() > budget->until_mono_ms)
		return error_set(err, ERR_UNAVAILABLE, "query timed out (--job-search-ms)");
	return OK;
}

enum status budget_take(struct prom_budget *budget, size_t points, struct error *err)
{
	if (points > budget->points)
		return error_set(err, ERR_TOO_LARGE,
			"query processing would load too many samples: more than %zu (--max-prometheus-points); ask for less time, fewer series or a wider step",
			budget->most_points);
	bool is_due = points > 1 || !(budget->points & 1023); /* the clock costs more than a point */
	budget->points -= points;
	return is_due ? budget_check(budget, err) : OK;
}

void series_done(struct series_reading *reading)
{
	mem_free(reading->points);
	reading->points = NULL;
}
