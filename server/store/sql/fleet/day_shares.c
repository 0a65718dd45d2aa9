#include "store/sql/fleet/day_shares.h"

enum { DAY_MS = 86400000 };

static void add_day(double *sums, const struct goodput_day *day, double share)
{
	sums[SHARE_BILLED] += (double)day->billed_ms * share;
	sums[SHARE_COST] += (double)day->cost * share;
	sums[SHARE_LOST_COST] += (double)day->lost_cost * share;
}

/* Of one node, from its start on: what it was put aside for is no part of it. */
static double worked_ms(const struct day_shares *shares, const struct goodput_day *day)
{
	double sum = 0;

	for (size_t i = STORE_GOODPUT_STARTUPS; i < STORE_GOODPUT_BUCKETS; i++)
		sum += (double)day->node_ms[i];
	return sum / (double)(shares->nodes > 0 ? shares->nodes : 1);
}

/* Its end was heard of since they were worked out: they have what lies behind it. */
static bool is_outdated(const struct day_shares *shares)
{
	for (size_t i = 0; i < shares->count; i++)
		if (shares->days[i].billed_ms && shares->days[i].day * DAY_MS >= shares->end_ms)
			return true;
	return false;
}

void day_shares_start(struct day_shares *shares, int64_t begin_ms, int64_t end_ms)
{
	shares->begin_ms = begin_ms;
	shares->end_ms = end_ms;
	shares->at = 0;
	for (size_t i = 0; i < DAY_SHARES; i++)
		shares->totals[i] = 0;
	shares->totals[SHARE_TIME] = (double)(end_ms - begin_ms);
	if (is_outdated(shares))
		shares->count = 0;
	for (size_t i = 0; i < shares->count; i++)
		add_day(shares->totals, &shares->days[i], 1);
}

static int64_t earlier(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int64_t later(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* How much of the day lies in the stretch, where the job lasted. */
static double share_of(const struct day_shares *shares, int64_t day_ms, int64_t from_ms, int64_t until_ms)
{
	int64_t begin_ms = later(day_ms, shares->begin_ms), end_ms = earlier(day_ms + DAY_MS, shares->end_ms);

	if (end_ms <= begin_ms)
		return day_ms < shares->begin_ms ? from_ms == shares->begin_ms : until_ms == shares->end_ms;
	int64_t both_ms = earlier(end_ms, until_ms) - later(begin_ms, from_ms);
	return both_ms > 0 ? (double)both_ms / (double)(end_ms - begin_ms) : 0;
}

struct day_part day_shares_next(struct day_shares *shares, int64_t from_ms, int64_t until_ms)
{
	struct day_part part = {.parts = {0}};
	bool is_by_clock = !shares->count || !shares->paused_ms, is_last = until_ms == shares->end_ms;

	part.parts[SHARE_TIME] =
		(double)later(0, until_ms - (is_by_clock ? from_ms : later(from_ms, shares->as_of_ms)));
	for (size_t i = 0; i < DAY_SHARES; i++)
		part.totals[i] = shares->totals[i];
	for (size_t i = shares->at; i < shares->count; i++) {
		int64_t day_ms = shares->days[i].day * DAY_MS;
		if (day_ms >= until_ms && !is_last)
			break;
		double share = share_of(shares, day_ms, from_ms, until_ms);
		add_day(part.parts, &shares->days[i], share);
		part.parts[SHARE_TIME] += is_by_clock ? 0 : worked_ms(shares, &shares->days[i]) * share;
		if (day_ms + DAY_MS <= until_ms)
			shares->at = i + 1;
	}
	part.has_run = part.parts[SHARE_BILLED] > 0 || part.totals[SHARE_BILLED] <= 0 || until_ms > shares->as_of_ms;
	return part;
}

double day_part_of(const struct day_part *part, enum day_share share, double whole)
{
	if (share == SHARE_NONE)
		return whole;
	if (part->totals[share] <= 0)
		share = SHARE_TIME;
	return part->totals[share] > 0 ? whole * part->parts[share] / part->totals[share] : whole;
}
