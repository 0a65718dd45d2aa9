/* What a pace is held against: known once there is a history, kept while a drop is open. */
#include "detect/detector.h"
#include "model/incident.h"
#include "test.h"

#include <math.h>

static void ignore(void *context, enum incident_change change, const struct incident *incident)
{
	int *opened = context;

	*opened += change == INCIDENT_OPENED && incident->kind == INCIDENT_THROUGHPUT_DROP;
}

/* Rates of one level, a little apart; a second each. */
static void feed(struct detector_set *set, int64_t from, int count, double value, int *opened)
{
	for (int64_t n = from; n < from + count; n++) {
		struct point point = {.step = n,
			.ts_ms = n * 1000,
			.value = value * (1 + (double)(n % 5) / 1000),
			.attempt = 1,
			.line = NO_LINE};
		detector_set_feed(set, (uint64_t)n, &point, ignore, opened);
	}
}

TEST(a_usual_pace_is_known_after_a_history_and_outlives_a_drop)
{
	AUTO(detector_set) set = detector_set_new(ROLE_THROUGHPUT);
	double rate = 0, newest = 0;
	int opened = 0;

	feed(set, 0, 47, 100, &opened);
	CHECK(detector_set_usual_pace(set) == 0);
	feed(set, 47, 1, 100, &opened);
	CHECK(fabs(detector_set_usual_pace(set) - 100) < 1);
	feed(set, 48, 100, 70, &opened);
	CHECK_INT(opened, 1);
	CHECK(fabs(detector_set_usual_pace(set) - 100) < 1);
	CHECK(detector_set_pace(set, &rate, &newest) > 0);
	CHECK(fabs(rate - 70) < 1 && fabs(newest - 70) < 1);
}

TEST(of_step_times_a_pace_is_steps_a_unit_of_time)
{
	AUTO(detector_set) set = detector_set_new(ROLE_STEP_TIME);
	int opened = 0;

	feed(set, 0, 64, 0.5, &opened);
	CHECK(fabs(detector_set_usual_pace(set) - 2) < 0.05);
}

TEST(other_roles_have_none)
{
	AUTO(detector_set) set = detector_set_new(ROLE_LOSS);
	int opened = 0;

	feed(set, 0, 64, 3, &opened);
	CHECK(detector_set_usual_pace(set) == 0);
}
