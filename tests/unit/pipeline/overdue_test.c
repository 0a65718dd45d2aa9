#include "pipeline/alert/emergency.h"
#include "pipeline/alert/overdue.h"
#include "test.h"

static int64_t limit_of(const char *document)
{
	AUTO(json) json = NULL;

	CHECK_OK(json_parse(&json, span_from(document), &err));
	return overdue_limit_s(json);
}

TEST(a_job_may_run_as_long_as_its_document_says_and_28_days_at_most)
{
	const int64_t most = INT64_C(28) * 86400;

	CHECK_INT(limit_of("{}"), most);
	CHECK_INT(limit_of("{\"StoppingCondition\":{\"MaxRuntimeInSeconds\":3600}}"), 3600);
	CHECK_INT(limit_of("{\"StoppingCondition\":{\"MaxRuntimeInSeconds\":1}}"), 1);
	CHECK_INT(limit_of("{\"StoppingCondition\":{\"MaxRuntimeInSeconds\":0}}"), most);
	CHECK_INT(limit_of("{\"StoppingCondition\":{\"MaxRuntimeInSeconds\":1e12}}"), most);
	CHECK_INT(limit_of("{\"StoppingCondition\":{\"MaxRuntimeInSeconds\":\"x\"}}"), most);
}

TEST(who_is_late_is_so_until_two_hundredths_are_left)
{
	CHECK(!overdue_is_late(1000, 1000, false) && overdue_is_late(1001, 1000, false));
	CHECK(overdue_is_late(981, 1000, true) && !overdue_is_late(980, 1000, true));
}

/* Every `gap` steps of `second` seconds, newest first. */
static size_t every(struct checkpoint_row *rows, size_t count, int64_t gap, int64_t second)
{
	for (size_t i = 0; i < count; i++) {
		int64_t step = gap * (int64_t)(count - i);
		rows[i] = (struct checkpoint_row){.attempt = 1, .step = step, .ts_ms = step * second * 1000};
	}
	return count;
}

TEST(a_checkpoint_is_overdue_after_twice_the_usual_gap_and_three_of_them)
{
	struct checkpoint_row rows[9];
	struct overdue overdue;

	CHECK(!overdue_is_checkpoint(rows, every(rows, 2, 100, 3), 9999, 9999000, &overdue));
	every(rows, 3, 100, 3);
	CHECK(!overdue_is_checkpoint(rows, 3, 500, 1500000, &overdue));
	CHECK(overdue_is_checkpoint(rows, 3, 501, 1503000, &overdue));
	CHECK(!overdue.is_by_time && overdue.since == 201 && overdue.usual == 100);
	every(rows, 9, 100, 3);
	rows[4].step += 40; /* one that was asked for in between does not change what is usual */
	CHECK(!overdue_is_checkpoint(rows, 9, 1100, 0, &overdue) && overdue_is_checkpoint(rows, 9, 1101, 0, &overdue));
	rows[0].attempt = rows[1].attempt = 2; /* two of a new attempt: a gap of its own, and those before */
	CHECK(overdue_is_checkpoint(rows, 9, 1101, 0, &overdue));
	for (size_t i = 0; i < 9; i++)
		rows[i].attempt = (uint32_t)(9 - i);
	CHECK(!overdue_is_checkpoint(rows, 9, 9999, 0, &overdue)); /* no two of one attempt */
}

TEST(checkpoints_by_the_clock_are_missed_by_the_clock)
{
	static const int64_t steps[] = {900, 700, 400, 350, 100}; /* every half an hour, at a changing pace */
	struct checkpoint_row rows[5];
	struct overdue overdue;

	for (size_t i = 0; i < 5; i++)
		rows[i] = (struct checkpoint_row){.attempt = 1, .step = steps[i], .ts_ms = (int64_t)(5 - i) * 1800000};
	int64_t last_ms = rows[0].ts_ms;
	CHECK(!overdue_is_checkpoint(rows, 5, 99999, last_ms + 3600000, &overdue));
	CHECK(overdue_is_checkpoint(rows, 5, 901, last_ms + 3601000, &overdue));
	CHECK(overdue.is_by_time && overdue.usual == 1800);
}

TEST(what_an_emergency_does_is_one_of_two_things_or_both)
{
	struct emergency_acts acts;

	CHECK(emergency_parse(SPAN(""), &acts) && !acts.checkpoint && !acts.stop);
	CHECK(emergency_parse(SPAN("checkpoint"), &acts) && acts.checkpoint && !acts.stop);
	CHECK(emergency_parse(SPAN("checkpoint,stop"), &acts) && acts.checkpoint && acts.stop);
	CHECK(emergency_parse(SPAN("stop"), &acts) && !acts.checkpoint && acts.stop);
	CHECK(!emergency_parse(SPAN("checkpoint stop"), &acts) && !emergency_parse(SPAN("reboot"), &acts));
	CHECK(!emergency_parse(SPAN(",stop"), &acts));
}
