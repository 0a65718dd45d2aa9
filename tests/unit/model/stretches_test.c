#include "model/jobs/stretches.h"
#include "test.h"

enum { HOUR_MS = 3600 * 1000 };
#define DAY_MS (24LL * HOUR_MS)
#define NOW_MS 1781000000000LL

static void add_run(struct stretches *all, int64_t from_ms, int count)
{
	for (int i = 0; i < count; i++)
		stretches_add(all, from_ms + i * 1000LL);
}

TEST(one_old_date_is_no_start_whether_it_comes_first_or_in_the_midst)
{
	for (int at = 0; at <= 100; at += 50) {
		struct stretches all = {.count = 0};
		add_run(&all, NOW_MS, at);
		stretches_add(&all, NOW_MS - 700 * DAY_MS);
		add_run(&all, NOW_MS + at * 1000LL, 100 - at);
		CHECK_INT(stretches_first_ms(&all), NOW_MS);
		CHECK_INT(stretches_last_ms(&all), NOW_MS + 99000);
		CHECK_INT(stretches_odd(&all, &all), 1);
	}
}

TEST(three_different_times_count_and_three_times_the_same_do_not)
{
	struct stretches all = {.count = 0};

	add_run(&all, NOW_MS, 10);
	for (int i = 0; i < 3; i++)
		stretches_add(&all, NOW_MS - 30 * DAY_MS);
	CHECK_INT(stretches_first_ms(&all), NOW_MS);
	CHECK_INT(stretches_odd(&all, &all), 3);
	stretches_add(&all, NOW_MS - 30 * DAY_MS + 1);
	CHECK_INT(stretches_odd(&all, &all), 4);
	stretches_add(&all, NOW_MS - 30 * DAY_MS - 1);
	CHECK_INT(stretches_odd(&all, &all), 0);
	CHECK_INT(stretches_first_ms(&all), NOW_MS - 30 * DAY_MS - 1);
}

TEST(a_month_between_two_runs_is_a_pause_and_a_day_is_none)
{
	struct stretches all = {.count = 0};
	unsigned at = 0;
	int64_t from_ms, to_ms;

	add_run(&all, NOW_MS, 10);
	add_run(&all, NOW_MS + 30 * DAY_MS, 10);
	CHECK(stretches_pause(&all, &at, &from_ms, &to_ms));
	CHECK_INT(from_ms, NOW_MS + 9000);
	CHECK_INT(to_ms, NOW_MS + 30 * DAY_MS);
	CHECK(!stretches_pause(&all, &at, &from_ms, &to_ms));
	for (int day = 1; day < 30; day++)
		stretches_add(&all, NOW_MS + day * DAY_MS);
	CHECK_INT(all.count, 1);
	at = 0;
	CHECK(!stretches_pause(&all, &at, &from_ms, &to_ms));
}

TEST(a_lone_line_and_one_a_week_are_all_there_is)
{
	struct stretches all = {.count = 0};

	stretches_add(&all, NOW_MS - 700 * DAY_MS);
	CHECK_INT(stretches_first_ms(&all), NOW_MS - 700 * DAY_MS);
	stretches_add(&all, NOW_MS);
	CHECK_INT(stretches_first_ms(&all), NOW_MS);
	CHECK_INT(stretches_odd(&all, &all), 1);
	all.count = 0;
	for (int week = 0; week < 5; week++)
		stretches_add(&all, NOW_MS + week * 7 * DAY_MS);
	CHECK_INT(stretches_first_ms(&all), NOW_MS);
	CHECK_INT(stretches_odd(&all, &all), 0);
}

TEST(a_hundred_odd_dates_are_counted_and_leave_the_work_alone)
{
	struct stretches all = {.count = 0};

	for (int i = 0; i < 100; i++) {
		stretches_add(&all, NOW_MS - (100 + 7 * i) * DAY_MS);
		stretches_add(&all, NOW_MS + i * 1000LL);
	}
	CHECK_INT(stretches_first_ms(&all), NOW_MS);
	CHECK_INT(stretches_last_ms(&all), NOW_MS + 99000);
	CHECK_INT(stretches_odd(&all, &all), 100);
	CHECK(all.count <= STRETCHES_MAX);
}

TEST(of_more_pauses_than_fit_the_shortest_are_taken_for_work)
{
	struct stretches all = {.count = 0};
	int64_t at_ms = NOW_MS, from_ms, to_ms;
	unsigned at = 0, pauses = 0;

	for (int i = 0; i < 20; i++) {
		add_run(&all, at_ms, 3);
		at_ms += (i < 5 ? 2 : 10) * DAY_MS;
	}
	CHECK_INT(stretches_first_ms(&all), NOW_MS);
	while (stretches_pause(&all, &at, &from_ms, &to_ms))
		pauses += to_ms - from_ms > 5 * DAY_MS;
	CHECK_INT(pauses, 14); /* all of the long ones */
}

TEST(streams_are_one_job_and_what_was_packed_is_the_same)
{
	struct stretches job = {.count = 0}, first = {.count = 0}, second = {.count = 0}, back;
	AUTO_DONE(buf) packed = BUF_INIT(4096);

	add_run(&first, NOW_MS, 50);
	stretches_add(&first, NOW_MS - 900 * DAY_MS);
	stretches_add(&second, NOW_MS + 60000);
	stretches_add(&second, NOW_MS - 900 * DAY_MS);
	stretches_merge(&job, &first);
	stretches_merge(&job, &second);
	CHECK_INT(stretches_first_ms(&job), NOW_MS);
	CHECK_INT(stretches_last_ms(&job), NOW_MS + 60000);
	CHECK_INT(stretches_odd(&job, &job), 2);
	CHECK_INT(stretches_odd(&job, &first), 1);
	CHECK_INT(stretches_odd(&job, &second), 1);
	stretches_pack(&job, &packed);
	struct unpacker in = unpacker_on(buf_span(&packed));
	stretches_unpack(&back, &in);
	CHECK_OK(unpacker_end(&in, "it", &err));
	CHECK_INT(back.count, job.count);
	for (unsigned i = 0; i < job.count; i++) {
		CHECK_INT(back.items[i].first_ms, job.items[i].first_ms);
		CHECK_INT(back.items[i].last_ms, job.items[i].last_ms);
		CHECK_INT(back.items[i].count, job.items[i].count);
		CHECK_INT(back.items[i].distinct, job.items[i].distinct);
	}
}

TEST(times_at_the_ends_of_what_there_is_do_no_harm)
{
	struct stretches all = {.count = 0};

	stretches_add(&all, INT64_MIN);
	stretches_add(&all, INT64_MAX);
	stretches_add(&all, 0);
	add_run(&all, NOW_MS, 3);
	CHECK_INT(stretches_first_ms(&all), NOW_MS);
	CHECK_INT(stretches_odd(&all, &all), 3);
}
