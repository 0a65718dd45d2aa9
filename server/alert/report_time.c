/* When a webhook's daily report is due, and of which time it is. */
#include "alert/rule.h"

#include <stdio.h>

enum { HOURS_PER_DAY = 24, MINUTES = 60, MINUTE_MS = 60000, LONGEST_DAYS = 7 };

static const int64_t day_ms = (int64_t)HOURS_PER_DAY * MINUTES * MINUTE_MS;

bool time_of_day_parse(struct span text, unsigned *minutes)
{
	int64_t hour, minute;

	if (text.len != 5 || text.ptr[2] != ':' || !span_parse_i64(span_of(text.ptr, 2), &hour) ||
		!span_parse_i64(span_skip(text, 3), &minute) || hour < 0 || hour > HOURS_PER_DAY || minute < 0 ||
		minute >= MINUTES || hour * MINUTES + minute > HOURS_PER_DAY * MINUTES)
		return false;
	*minutes = (unsigned)(hour * MINUTES + minute) % (HOURS_PER_DAY * MINUTES);
	return true;
}

/* That time of the local day which is `days` after the one of this moment. */
static int64_t on_day(const struct zone *zone, unsigned at_min, int64_t utc_ms, int days)
{
	int64_t local_ms = utc_ms + zone_offset_ms(zone, utc_ms);
	int64_t day = local_ms / day_ms - (local_ms % day_ms < 0) + days;

	return zone_to_utc_ms(zone, day * day_ms + (int64_t)at_min * MINUTE_MS);
}

int64_t report_next_ms(const struct zone *zone, unsigned at_min, int64_t after_ms)
{
	for (int days = -1;; days++) {
		int64_t at_ms = on_day(zone, at_min, after_ms, days);
		if (at_ms > after_ms || days > 1)
			return at_ms;
	}
}

int64_t report_last_ms(const struct zone *zone, unsigned at_min, int64_t until_ms)
{
	for (int days = 1;; days--) {
		int64_t at_ms = on_day(zone, at_min, until_ms, days);
		if (at_ms <= until_ms || days < -1)
			return at_ms;
	}
}

/* A clock that was days ahead when the next one was reckoned: it would stay away for as long. */
bool report_is_due(const struct webhook_row *webhook, int64_t now_ms)
{
	int64_t due_ms = webhook->report_due_ms;

	return due_ms && webhook->is_enabled && (due_ms <= now_ms || due_ms > now_ms + 2 * day_ms);
}

static void set_from(struct report_plan *plan, int64_t from_ms)
{
	int64_t least_ms = plan->to_ms - LONGEST_DAYS * day_ms;

	plan->from_ms = from_ms > least_ms ? from_ms : least_ms;
}

enum status report_plan(const struct webhook_row *webhook, int64_t now_ms, struct report_plan *out, struct error *err)
{
	AUTO(zone) zone = NULL;
	int64_t due_ms = webhook->report_due_ms;
	unsigned at_min;

	*out = (struct report_plan){0};
	if (!time_of_day_parse(webhook->report_at, &at_min))
		return error_set_field(err, ERR_SEMANTIC, "report_at",
			"report_at is a time of day as 07:30, or \"\" for none, not '%.*s'",
			SPAN_ARGS(span_cut(webhook->report_at, 40)));
	enum status status = zone_new(&zone, webhook->report_tz, err);
	if (status == ERR_SEMANTIC && err)
		snprintf(err->field, sizeof err->field, "report_tz");
	TRY(status);
	out->next_ms = report_next_ms(zone, at_min, now_ms);
	out->to_ms = report_last_ms(zone, at_min, now_ms);
	out->is_told = due_ms && due_ms <= now_ms;
	if (!out->is_told || due_ms > out->to_ms)
		due_ms = out->to_ms;
	set_from(out, report_last_ms(zone, at_min, due_ms - 1) + 1);
	return OK;
}

void report_plan_after(struct report_plan *plan, int64_t told_to_ms)
{
	if (told_to_ms && told_to_ms < plan->to_ms)
		set_from(plan, told_to_ms + 1);
}
