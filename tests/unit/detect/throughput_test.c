/* Rates that change: what is told, when, and what is not. */
#include "series.h"

#include "detect/blocks.h"

/* Ten slow steps to begin with; each hundredth point is a checkpoint's. */
static void feed_rate(struct series *series, double rate, int count)
{
	for (int i = 0; i < count; i++) {
		double share = series->ordinal < 10 ? 0.4 : series->ordinal % 100 < 2 ? 0.35 : 1;
		feed(series, rate * share * (1 + 0.015 * noise(series)));
	}
}

/* Incidents that are warnings, or become ones. */
static size_t count_pages(struct series *series)
{
	size_t pages = 0;
	uint64_t paged = UINT64_MAX;

	CHECK(series->count <= REPORTS_MAX);
	for (size_t i = 0; i < series->count; i++) {
		const struct incident *incident = &report_at(series, i)->incident;
		bool is_new = incident->severity > SEVERITY_INFO && incident->opened_ordinal != paged;
		pages += is_new;
		paged = is_new ? incident->opened_ordinal : paged;
	}
	return pages;
}

TEST(throughput_that_falls_is_a_mark_and_is_told_once_it_stays)
{
	AUTO_DONE(series) s = series_of(ROLE_THROUGHPUT);

	feed_rate(&s, 1750, 3000);
	CHECK_INT(s.count, 0);
	feed_rate(&s, 1750 * 0.9, 32);
	CHECK_INT(s.count, 1);
	check_report(&s, 0, INCIDENT_OPENED, INCIDENT_THROUGHPUT_DROP, SEVERITY_INFO);
	struct incident *opened = &report_at(&s, 0)->incident;
	CHECK(opened->expected > 1730 && opened->expected < 1770 && opened->value < 1640 && opened->score < -6);
	CHECK(opened->first_step >= 2992 && opened->first_step <= 3000);
	feed_rate(&s, 1750 * 0.9, 460 - 32);
	CHECK_INT(s.count, 1);
	feed_rate(&s, 1750 * 0.9, 60); /* a tenth of 480 points is the work of 48 */
	CHECK_INT(s.count, 2);
	check_report(&s, 1, INCIDENT_UPDATED, INCIDENT_THROUGHPUT_DROP, SEVERITY_WARNING);
	feed_rate(&s, 1750 * 0.7, 64);
	check_report(&s, s.count - 1, INCIDENT_UPDATED, INCIDENT_THROUGHPUT_DROP, SEVERITY_WARNING);
	feed_rate(&s, 1750, 40);
	check_report(&s, s.count - 1, INCIDENT_CLOSED, INCIDENT_THROUGHPUT_DROP, SEVERITY_WARNING);
	CHECK(report_at(&s, s.count - 1)->incident.worst < 1250);
	size_t before = s.count;
	feed_rate(&s, 2200, 200);
	CHECK_INT(s.count, before + 2);
	check_report(&s, before, INCIDENT_OPENED, INCIDENT_THROUGHPUT_CHANGE, SEVERITY_INFO);
	check_report(&s, before + 1, INCIDENT_CLOSED, INCIDENT_THROUGHPUT_CHANGE, SEVERITY_INFO);
}

/* Two medians a little lower, and a dozen that are nearly usual: the sum of them had not gone when the rate fell. */
TEST(a_drop_begins_where_the_rate_fell_and_not_at_a_dip_long_before)
{
	AUTO_DONE(series) s = series_of(ROLE_THROUGHPUT);

	feed_level(&s, 2, 0.02, 800);
	for (int i = 0; i < 16; i++)
		feed(&s, 1.94);
	for (int i = 0; i < 13 * BLOCK_POINTS; i++)
		feed(&s, 1.984);
	int64_t fell = s.step;
	feed_level(&s, 1.55, 0.02, 8 * BLOCK_POINTS);
	CHECK_INT(s.count, 1);
	check_report(&s, 0, INCIDENT_OPENED, INCIDENT_THROUGHPUT_DROP, SEVERITY_INFO);
	CHECK_INT(report_at(&s, 0)->incident.first_step, fell);
}

TEST(where_a_line_stands_for_long_a_quarter_of_an_hour_is_enough)
{
	AUTO_DONE(series) s = series_of(ROLE_THROUGHPUT);

	s.gap = 60; /* seconds a line, as many steps */
	feed_level(&s, 320, 0.01, 2000);
	feed_level(&s, 250, 0.01, 24);
	CHECK_INT(s.count, 1);
	check_report(&s, 0, INCIDENT_OPENED, INCIDENT_THROUGHPUT_DROP, SEVERITY_WARNING);
}

TEST(a_rate_of_which_little_is_known_must_stay_low_for_long)
{
	AUTO_DONE(series) s = series_of(ROLE_THROUGHPUT);

	feed_level(&s, 320, 0.01, 512);
	feed_level(&s, 250, 0.01, 1920 - 8); /* as many as make a level a known one */
	CHECK_INT(s.count, 1);
	check_report(&s, 0, INCIDENT_OPENED, INCIDENT_THROUGHPUT_DROP, SEVERITY_INFO);
	feed_level(&s, 250, 0.01, 16);
	CHECK_INT(s.count, 2);
	check_report(&s, 1, INCIDENT_UPDATED, INCIDENT_THROUGHPUT_DROP, SEVERITY_WARNING);
}

TEST(a_rate_of_which_next_to_nothing_is_known_is_told_by_time_alone)
{
	AUTO_DONE(series) s = series_of(ROLE_THROUGHPUT);

	feed_level(&s, 320, 0.01, 496);
	feed_level(&s, 250, 0.01, 2040);
	CHECK_INT(count_pages(&s), 0);
	AUTO_DONE(series) slow = series_of(ROLE_THROUGHPUT);
	slow.gap = 60; /* seconds a line */
	feed_level(&slow, 320, 0.01, 496);
	feed_level(&slow, 250, 0.01, 72);
	CHECK_INT(count_pages(&slow), 1);
}

TEST(a_fall_that_is_deep_is_told_sooner)
{
	AUTO_DONE(series) s = series_of(ROLE_THROUGHPUT);

	feed_level(&s, 320, 0.01, 2400);
	feed_level(&s, 160, 0.01, 120);
	CHECK_INT(count_pages(&s), 0);
	feed_level(&s, 160, 0.01, 16);
	CHECK_INT(count_pages(&s), 1);
}

TEST(a_slow_decline_is_told)
{
	AUTO_DONE(series) s = series_of(ROLE_THROUGHPUT);

	feed_level(&s, 320, 0.01, 3000);
	for (int i = 0; i < 1000; i++)
		feed(&s, 320 * (1 - 0.25 * i / 1000) * (1 + 0.01 * noise(&s)));
	CHECK_INT(count_pages(&s), 1);
	feed_level(&s, 240, 0.01, 200);
	CHECK_INT(report_at(&s, s.count - 1)->incident.state, INCIDENT_OPEN);
	feed_level(&s, 320, 0.01, 200);
	check_report(&s, s.count - 1, INCIDENT_CLOSED, INCIDENT_THROUGHPUT_DROP, SEVERITY_WARNING);
}

TEST(a_shift_is_found_in_noise_that_hangs_together)
{
	for (uint64_t seed = 1; seed <= 8; seed++) {
		AUTO_DONE(series) s = series_of(ROLE_STEP_TIME);
		double left = 0;
		s.noise = seed;
		for (int i = 0; i < 4600; i++) {
			left = 0.3 * left + 0.954 * noise(&s);
			feed(&s, fmax(3, 20 + 4 * left) / (i < 4000 ? 1 : 0.83));
		}
		CHECK_INT(report_at(&s, 0)->incident.kind, INCIDENT_THROUGHPUT_DROP);
		CHECK(report_at(&s, 0)->incident.opened_step >= 4000);
	}
}

/* Below the highest for long, but at none of the levels. */
TEST(a_rate_that_walks_among_levels_is_marked_and_no_more)
{
	AUTO_DONE(series) s = series_of(ROLE_THROUGHPUT);

	feed_level(&s, 320, 0.01, 2400);
	for (int i = 0; i < 5; i++) {
		feed_level(&s, i % 2 ? 250 : 290, 0.01, 80);
		feed_level(&s, 320, 0.01, 160);
	}
	for (int i = 0; i < 8; i++)
		feed_level(&s, i % 2 ? 250 : 290, 0.01, 200);
	CHECK_INT(count_pages(&s), 0);
	feed_level(&s, 250, 0.01, 600); /* and now it stays at one */
	CHECK_INT(count_pages(&s), 1);
}

TEST(a_steady_rate_that_becomes_low_and_uneven_is_told)
{
	AUTO_DONE(series) s = series_of(ROLE_THROUGHPUT);

	feed_level(&s, 320, 0.01, 2400);
	for (int i = 0; i < 500; i++)
		feed(&s, (i / 60 % 2 ? 270 : 230) * (1 + 0.01 * noise(&s)));
	CHECK_INT(count_pages(&s), 1);
}

/* How long such stretches last is known the less, the fewer there were. */
TEST(after_few_slow_stretches_the_next_one_must_be_longer_than_after_many)
{
	static const int times[] = {12, 10, 6, 4};

	for (int stretches = 1; stretches <= 5; stretches++) {
		AUTO_DONE(series) s = series_of(ROLE_THROUGHPUT);
		int most = times[stretches < 4 ? stretches - 1 : 3] * 160;
		feed_level(&s, 320, 0.01, 2400);
		for (int i = 0; i < stretches; i++) {
			feed_level(&s, 250, 0.01, 160);
			feed_level(&s, 320, 0.01, 400);
		}
		size_t before = count_pages(&s);
		feed_level(&s, 250, 0.01, most * 3 / 4);
		CHECK_INT(count_pages(&s), before);
		feed_level(&s, 250, 0.01, most / 2);
		CHECK_INT(count_pages(&s), before + 1);
	}
}

TEST(a_rate_that_alternates_is_marked_and_no_more)
{
	static const int dwells[] = {16, 40, 100, 300};

	for (size_t k = 0; k < sizeof dwells / sizeof dwells[0]; k++) {
		AUTO_DONE(series) s = series_of(ROLE_THROUGHPUT);
		for (int i = 0; i < 12000; i++)
			feed(&s, (i / dwells[k] % 2 ? 250 : 320) * (1 + 0.01 * noise(&s)));
		CHECK_INT(count_pages(&s), 0);
		CHECK(s.count <= 16);
		if (dwells[k] < 40)
			continue; /* it never came back for long enough to be another stretch */
		feed_level(&s, 250, 0.01, 4 * dwells[k] + 600); /* and now it stays */
		CHECK_INT(count_pages(&s), 1);
	}
}

TEST(what_comes_back_lower_than_ever_is_told_at_once)
{
	AUTO_DONE(series) s = series_of(ROLE_THROUGHPUT);

	for (int i = 0; i < 6000; i++)
		feed(&s, (i / 40 % 2 ? 290 : 320) * (1 + 0.01 * noise(&s)));
	size_t before = s.count;
	feed_level(&s, 160, 0.01, 40);
	CHECK_INT(s.count, before + 1);
	CHECK_INT(report_at(&s, before)->incident.kind, INCIDENT_THROUGHPUT_DROP);
}

TEST(a_shift_of_two_spreads_is_found_in_a_noisy_rate)
{
	AUTO_DONE(series) s = series_of(ROLE_STEP_TIME);

	feed_level(&s, 20, 0.15, 4000);
	CHECK_INT(s.count, 0);
	feed_level(&s, 20 / 0.83, 0.15, 170);
	CHECK(s.count >= 1);
	check_report(&s, 0, INCIDENT_OPENED, INCIDENT_THROUGHPUT_DROP, report_at(&s, 0)->incident.severity);
	struct incident *opened = &report_at(&s, 0)->incident;
	CHECK(opened->expected > 18.5 && opened->expected < 21 && opened->value > 22);
	feed_level(&s, 20 / 0.83, 0.15, 400);
	CHECK_INT(report_at(&s, s.count - 1)->incident.state, INCIDENT_OPEN);
	CHECK_INT(count_pages(&s), 1);
	feed_level(&s, 20, 0.15, 160);
	check_report(&s, s.count - 1, INCIDENT_CLOSED, INCIDENT_THROUGHPUT_DROP, SEVERITY_WARNING);
}

TEST(slow_cycles_of_a_rate_are_silent)
{
	static const double periods[] = {300, 1000, 5000};

	for (size_t k = 0; k < sizeof periods / sizeof periods[0]; k++) {
		AUTO_DONE(series) s = series_of(ROLE_THROUGHPUT);
		for (int i = 0; i < 12000; i++)
			feed(&s, 320 * (1 + 0.02 * sin(2 * M_PI * i / periods[k])) * (1 + 0.004 * noise(&s)));
		CHECK_INT(s.count, 0);
	}
}

TEST(a_short_slow_stretch_is_no_drop_and_where_time_stands_still_it_must_be_long)
{
	AUTO_DONE(series) s = series_of(ROLE_THROUGHPUT);

	feed_rate(&s, 1750, 1000);
	feed_rate(&s, 1750 * 0.7, 16);
	feed_rate(&s, 1750, 1000);
	CHECK_INT(s.count, 0);
	s.is_timeless = true; /* an old log without times */
	feed_rate(&s, 1750 * 0.7, 48);
	CHECK_INT(s.count, 0);
	feed_rate(&s, 1750 * 0.7, 24);
	CHECK_INT(s.count, 1);
}

TEST(a_restart_that_comes_back_slow_is_a_drop)
{
	AUTO_DONE(series) s = series_of(ROLE_THROUGHPUT);

	feed_rate(&s, 1750, 1000);
	s.attempt++;
	feed_rate(&s, 1700, 1000); /* nearly as fast */
	CHECK_INT(s.count, 0);
	s.attempt++;
	feed_rate(&s, 850, 64);
	CHECK_INT(s.count, 1);
	check_report(&s, 0, INCIDENT_OPENED, INCIDENT_THROUGHPUT_DROP, SEVERITY_WARNING);
	CHECK(report_at(&s, 0)->incident.expected > 1650);
	feed_rate(&s, 850, 3000);
	check_report(&s, s.count - 1, INCIDENT_CLOSED, INCIDENT_THROUGHPUT_DROP, SEVERITY_WARNING);
}

TEST(step_time_that_rises_is_a_drop_in_its_own_unit)
{
	AUTO_DONE(series) s = series_of(ROLE_STEP_TIME);

	feed_level(&s, 1.2, 0.02, 500);
	feed_level(&s, 1.5, 0.02, 32);
	CHECK_INT(s.count, 1);
	check_report(&s, 0, INCIDENT_OPENED, INCIDENT_THROUGHPUT_DROP, SEVERITY_INFO);
	struct incident *opened = &report_at(&s, 0)->incident;
	CHECK(opened->expected > 1.18 && opened->expected < 1.22 && opened->value > 1.4 && opened->value < 1.55);
	CHECK(opened->score > 6);
}
