#include "model/jobs/totals.h"

#include "model/metrics/batch.h"

#include <math.h>

/* When it began is said, and it is not the moment of the reading: who had to say something and did not know says that. */
static bool has_start(const struct totals *totals)
{
	return totals->start_ms != NO_TIME && totals->start_ms < totals->ts_ms;
}

static bool began_anew(const struct totals *last, const struct totals *now)
{
	if (last->start_ms != NO_TIME && has_start(now) && now->start_ms > last->start_ms)
		return true;
	return now->count < last->count && now->ts_ms >= last->ts_ms;
}

static bool is_older(const struct totals *last, const struct totals *now)
{
	if (now->start_ms != NO_TIME && last->start_ms != NO_TIME && now->start_ms < last->start_ms)
		return true;
	return now->ts_ms < last->ts_ms;
}

bool totals_read(struct totals *last, const struct totals *now, double *mean)
{
	struct totals from = *last;

	if (!last->is_known || began_anew(last, now)) {
		from.sum = from.count = 0;
		from.is_known = last->is_known || has_start(now);
	} else if (is_older(last, now)) {
		return false;
	}
	*last = *now;
	last->is_known = true;
	if (!from.is_known || !(now->count > from.count) || !isfinite(from.sum))
		return false; /* what follows a sum that is no number any more is not known */
	*mean = (now->sum - from.sum) / (now->count - from.count);
	return true;
}
