#include "alert/rule.h"
#include "base/text/iso8601.h"
#include "test.h"

static const int64_t HOUR_MS = 3600000, DAY_MS_ = 24 * 3600000;

static int64_t at(int64_t year, unsigned month, unsigned day, int64_t hour, int64_t minute)
{
	return iso8601_days(year, month, day) * DAY_MS_ + hour * HOUR_MS + minute * 60000;
}

static struct webhook_row hook(const char *time, const char *zone, int64_t due_ms)
{
	return (struct webhook_row){.is_enabled = true,
		.report_at = span_from(time),
		.report_tz = span_from(zone),
		.report_due_ms = due_ms};
}

static struct report_plan plan_of(const struct webhook_row *webhook, int64_t now_ms)
{
	struct report_plan plan;

	CHECK(report_is_due(webhook, now_ms));
	CHECK_OK(report_plan(webhook, now_ms, &plan, &err));
	return plan;
}

TEST(a_time_of_day)
{
	static const char *const wrong[] = {"", "7:30", "07:60", "24:01", "25:00", "-1:00", "07-30", "07:3x"};
	unsigned minutes;

	CHECK(time_of_day_parse(SPAN("07:30"), &minutes) && minutes == 450);
	CHECK(time_of_day_parse(SPAN("00:00"), &minutes) && minutes == 0);
	CHECK(time_of_day_parse(SPAN("24:00"), &minutes) && minutes == 0);
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		CHECK(!time_of_day_parse(span_from(wrong[i]), &minutes));
}

TEST(each_day_has_one_next_and_one_last)
{
	AUTO(zone) berlin = NULL;

	CHECK_OK(zone_new(&berlin, SPAN("Europe/Berlin"), &err));
	CHECK_INT(report_next_ms(NULL, 450, at(2026, 11, 29, 7, 29)), at(2026, 11, 29, 7, 30));
	CHECK_INT(report_next_ms(NULL, 450, at(2026, 11, 29, 7, 30)), at(2026, 11, 30, 7, 30));
	CHECK_INT(report_last_ms(NULL, 450, at(2026, 11, 29, 7, 30)), at(2026, 11, 29, 7, 30));
	CHECK_INT(report_last_ms(NULL, 450, at(2026, 11, 29, 7, 29)), at(2026, 11, 28, 7, 30));
	/* Its day has begun there already, or is not over. */
	CHECK_INT(report_next_ms(berlin, 15, at(2026, 11, 28, 23, 0)), at(2026, 11, 28, 23, 15));
	CHECK_INT(report_last_ms(berlin, 23 * 60 + 45, at(2026, 11, 28, 22, 50)), at(2026, 11, 28, 22, 45));
	/* In March the hour from 02:00 is left out, in October it comes twice: one report a day all the same. */
	CHECK_INT(report_next_ms(berlin, 150, at(2026, 3, 28, 12, 0)), at(2026, 3, 29, 1, 30));
	CHECK_INT(report_next_ms(berlin, 150, at(2026, 3, 29, 1, 30)), at(2026, 3, 30, 0, 30));
	CHECK_INT(report_next_ms(berlin, 150, at(2026, 10, 24, 12, 0)), at(2026, 10, 25, 0, 30));
	CHECK_INT(report_next_ms(berlin, 150, at(2026, 10, 25, 0, 30)), at(2026, 10, 26, 1, 30));
}

TEST(a_report_is_of_the_day_until_it_is_due)
{
	struct webhook_row row = hook("07:30", "", at(2026, 11, 29, 7, 30));

	CHECK(!report_is_due(&row, at(2026, 11, 29, 7, 29)));
	struct report_plan plan = plan_of(&row, at(2026, 11, 29, 7, 30) + 1500);
	CHECK(plan.is_told);
	CHECK_INT(plan.from_ms, at(2026, 11, 28, 7, 30) + 1);
	CHECK_INT(plan.to_ms, at(2026, 11, 29, 7, 30));
	CHECK_INT(plan.next_ms, at(2026, 11, 30, 7, 30));
	row.is_enabled = false;
	CHECK(!report_is_due(&row, at(2026, 11, 30, 7, 29)));
}

TEST(a_server_that_was_down_tells_once_of_all_that_was_missed)
{
	struct webhook_row row = hook("07:30", "", at(2026, 11, 28, 7, 30));
	struct report_plan plan = plan_of(&row, at(2026, 11, 30, 11, 0));

	CHECK(plan.is_told);
	CHECK_INT(plan.from_ms, at(2026, 11, 27, 7, 30) + 1);
	CHECK_INT(plan.to_ms, at(2026, 11, 30, 7, 30));
	CHECK_INT(plan.next_ms, at(2026, 12, 1, 7, 30));
	plan = plan_of(&row, at(2026, 12, 30, 11, 0)); /* a month later it is of a week */
	CHECK_INT(plan.to_ms - plan.from_ms, 7 * DAY_MS_);
}

TEST(a_report_begins_where_the_last_one_ended)
{
	struct webhook_row row = hook("07:50", "", at(2026, 11, 29, 7, 50));
	struct report_plan plan = plan_of(&row, at(2026, 11, 29, 7, 50));

	report_plan_after(&plan, 0);
	CHECK_INT(plan.from_ms, at(2026, 11, 28, 7, 50) + 1);
	report_plan_after(&plan, at(2026, 11, 29, 7, 41)); /* then the time was changed */
	CHECK_INT(plan.from_ms, at(2026, 11, 29, 7, 41) + 1);
	report_plan_after(&plan, at(2026, 11, 28, 6, 30)); /* nothing is left out */
	CHECK_INT(plan.from_ms, at(2026, 11, 28, 6, 30) + 1);
	report_plan_after(&plan, at(2026, 10, 1, 7, 41));
	CHECK_INT(plan.to_ms - plan.from_ms, 7 * DAY_MS_);
	report_plan_after(&plan, plan.to_ms + DAY_MS_); /* by a clock that was ahead */
	CHECK_INT(plan.to_ms - plan.from_ms, 7 * DAY_MS_);
}

TEST(a_clock_that_goes_back_tells_nothing_twice)
{
	struct webhook_row row = hook("07:30", "", at(2026, 11, 30, 7, 30)); /* that of the 29th was told */

	CHECK(!report_is_due(&row, at(2026, 11, 29, 7, 31)));
	CHECK(!report_is_due(&row, at(2026, 11, 28, 7, 31)));
	struct report_plan plan = plan_of(&row, at(2026, 11, 2, 7, 31)); /* it had been weeks ahead */
	CHECK(!plan.is_told);
	CHECK_INT(plan.next_ms, at(2026, 11, 3, 7, 30));
}

TEST(a_report_that_was_put_off_is_of_the_same_day)
{
	struct webhook_row row = hook("07:30", "", at(2026, 11, 29, 8, 30));
	struct report_plan plan = plan_of(&row, at(2026, 11, 29, 8, 31));

	CHECK(plan.is_told);
	CHECK_INT(plan.from_ms, at(2026, 11, 28, 7, 30) + 1);
	CHECK_INT(plan.to_ms, at(2026, 11, 29, 7, 30));
}

TEST(what_is_no_time_or_zone_is_said)
{
	struct webhook_row row = hook("7.30", "", 0);
	struct report_plan plan;

	CHECK_FAILS(report_plan(&row, 0, &plan, &err), ERR_SEMANTIC, "report_at is a time of day");
	row = hook("07:30", "Mars/Olympus", 0);
	CHECK_FAILS(report_plan(&row, 0, &plan, &err), ERR_SEMANTIC, "Mars/Olympus");
}
