/*
 * Job: what a stretch of a job's time has of what the whole job came to: as its stored days (UTC) have it, within a day by the
 *      clock, and by the clock alone where it has no such days, or they do not reach yet.
 * Ownership: days are the caller's. Threads: one at a time. Pure.
 */
#pragma once

#include "store/goodput.h"

enum day_share { SHARE_NONE, SHARE_TIME, SHARE_BILLED, SHARE_COST, SHARE_LOST_COST, DAY_SHARES };

struct day_shares {
	struct goodput_day *days; /* in order */
	size_t count;
	int64_t begin_ms, end_ms; /* the job's */
	int64_t nodes, paused_ms, as_of_ms; /* of the job, when its days were worked out */
	size_t at; /* the first that the next stretch can have something of */
	double totals[DAY_SHARES];
};
struct day_part {
	bool has_run; /* the job was at work in it, as far as is known */
	double parts[DAY_SHARES], totals[DAY_SHARES];
};

void day_shares_start(struct day_shares *shares, int64_t begin_ms, int64_t end_ms);
/* Stretches come in order and without gaps. What lies before the first or behind the last is of these. */
struct day_part day_shares_next(struct day_shares *shares, int64_t from_ms, int64_t until_ms);
double day_part_of(const struct day_part *part, enum day_share share, double whole);
