/* Losses that wander, begin again or come again: what is told of them, and what is not. */
#include "detect/recur.h"
#include "series.h"

static void check_no_pages(struct series *series)
{
	CHECK(series->count <= REPORTS_MAX);
	for (size_t i = 0; i < series->count; i++)
		CHECK_INT(report_at(series, i)->incident.severity, SEVERITY_INFO);
}

static size_t first_page(struct series *series)
{
	size_t i = 0;

	while (i < series->count && report_at(series, i)->incident.severity == SEVERITY_INFO)
		i++;
	CHECK(i < series->count);
	return i;
}

static double falling(double i)
{
	return 1.8 + 9.2 / pow(1 + i / 60.0, 0.45);
}

TEST(slow_cycles_of_a_loss_are_no_ramps)
{
	static const double periods[] = {250, 700, 3000}, shares[] = {0.002, 0.01};

	for (size_t k = 0; k < 6; k++) {
		AUTO_DONE(series) s = series_of(ROLE_LOSS);
		for (int i = 0; i < 10000; i++)
			feed(&s, falling(i) * (1 + 0.02 * sin(2 * M_PI * i / periods[k % 3])) *
					 (1 + shares[k / 3] * noise(&s)));
		check_no_pages(&s);
	}
}

/* A few odd points on the way up are no jump beyond what such a loss does by itself. */
TEST(odd_points_on_the_way_up_of_a_cycle_are_marks)
{
	for (uint64_t seed = 1; seed <= 4; seed++) {
		AUTO_DONE(series) s = series_of(ROLE_LOSS);
		s.noise = seed << 32;
		for (int i = 0; i < 4500; i++)
			feed(&s, falling(i) * (1 + 0.02 * sin(2 * M_PI * i / 500 + (double)seed)) *
					 (1 + 0.002 * noise(&s)));
		check_no_pages(&s);
		for (int i = 0; i < 4; i++) /* and that is beyond */
			feed(&s, 1.15 * falling(4500));
		first_page(&s);
	}
}

TEST(a_restart_of_the_learning_rate_is_no_spike)
{
	AUTO_DONE(series) s = series_of(ROLE_LOSS);

	for (int i = 0; i < 10000; i++)
		feed(&s, falling(i) * (1 - 0.02 * (1 - cos(M_PI * (i % 1500) / 1500.0))) * (1 + 0.01 * noise(&s)));
	check_no_pages(&s);
}

/* Batches of two kinds of data, each of a loss of its own, in any order: three of ten are of the second. */
static double of_two_kinds(struct series *s)
{
	s->noise = s->noise * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	bool is_second = (s->noise >> 33) % 10 < 3;
	return (is_second ? 3 : 2) * (1 + 0.015 * noise(s));
}

TEST(what_a_loss_does_all_the_time_is_told_a_few_times_and_then_only_when_it_is_more)
{
	static const struct {
		double level;
		int points;
	} more[] = {{3, 48}, {6, 3}}; /* what comes again is waited for 32 points long */

	for (size_t k = 0; k < 2; k++) {
		AUTO_DONE(series) s = series_of(ROLE_LOSS);
		for (int i = 0; i < 1000; i++)
			feed(&s, of_two_kinds(&s) * (1 + 9 * exp(-i / 60.0)));
		s.count = 0; /* it is known by now */
		for (int i = 0; i < 4000; i++)
			feed(&s, of_two_kinds(&s));
		CHECK(s.count < 16);
		check_no_pages(&s);
		size_t before = s.count;
		for (int i = 0; i < more[k].points; i++)
			feed(&s, more[k].level * (1 + 0.015 * noise(&s)));
		CHECK(s.count > before && report_at(&s, s.count - 1)->incident.severity >= SEVERITY_WARNING);
	}
}

TEST(a_ramp_is_marked_and_is_told_once_it_is_high)
{
	AUTO_DONE(series) s = series_of(ROLE_LOSS);

	feed_level(&s, 2, 0.01, 3000);
	CHECK(s.count <= 4);
	size_t before = s.count;
	for (int i = 0; i < 120; i++) /* six per cent */
		feed(&s, 2 * (1 + 0.1 * i / 200) * (1 + 0.01 * noise(&s)));
	CHECK(s.count > before);
	check_no_pages(&s);
	CHECK_INT(report_at(&s, before)->incident.kind, INCIDENT_LOSS_SPIKE);
	for (int i = 120; i < 400; i++) /* ten, and it stays */
		feed(&s, 2 * (1 + 0.1 * fmin(i, 200) / 200) * (1 + 0.01 * noise(&s)));
	size_t page = first_page(&s);
	check_report(&s, page, report_at(&s, page)->change, INCIDENT_LOSS_SPIKE, SEVERITY_WARNING);
	CHECK(report_at(&s, page)->incident.first_step >= 2980 && report_at(&s, page)->incident.first_step < 3060);
}

/* A bump and back is how far it goes by itself. */
TEST(a_ramp_is_told_where_it_is_twice_as_far_as_the_loss_went_before)
{
	AUTO_DONE(series) s = series_of(ROLE_LOSS);

	feed_level(&s, 2, 0.01, 3000);
	for (int i = 0; i < 400; i++)
		feed(&s, 2 * (1 + 0.07 * (1 - fabs(i - 200.0) / 200)) * (1 + 0.01 * noise(&s)));
	feed_level(&s, 2, 0.01, 1500);
	check_no_pages(&s);
	for (int i = 0; i < 200; i++)
		feed(&s, 2 * (1 + 0.1 * i / 200) * (1 + 0.01 * noise(&s)));
	check_no_pages(&s);
	for (int i = 200; i < 400; i++)
		feed(&s, 2 * (1 + 0.1 * i / 200) * (1 + 0.01 * noise(&s)));
	CHECK(report_at(&s, first_page(&s))->incident.opened_step > 4900);
}

/* Lines that are means of fifty batches, the first of each epoch of forty being one batch: seven times as noisy. */
static void feed_epochs(struct series *series, int from, int to)
{
	for (int i = from; i < to; i++)
		feed(series, 2 * (1 + (i % 40 ? 0.01 : 0.07) * noise(series)));
}

TEST(the_first_line_of_an_epoch_may_be_of_one_batch)
{
	AUTO_DONE(series) s = series_of(ROLE_LOSS);

	s.gap = 50;
	feed_epochs(&s, 0, 2000);
	check_no_pages(&s);
	size_t before = s.count;
	feed_epochs(&s, 2000, 6000);
	check_no_pages(&s);
	CHECK(s.count <= before + 8);
	feed_level(&s, 2, 0.01, 20);
	feed(&s, 3); /* but not there */
	check_report(&s, s.count - 1, INCIDENT_OPENED, INCIDENT_LOSS_SPIKE, SEVERITY_WARNING);
}

TEST(one_line_of_many_steps_is_told_from_ten_spreads_on)
{
	AUTO_DONE(series) s = series_of(ROLE_LOSS);

	s.gap = 50;
	feed_level(&s, 2, 0.01, 400);
	feed(&s, 2 * 1.075); /* nine */
	feed_level(&s, 2, 0.01, 50);
	check_no_pages(&s);
	CHECK(s.count >= 2);
	feed(&s, 2 * 1.125);
	check_report(&s, s.count - 1, INCIDENT_OPENED, INCIDENT_LOSS_SPIKE, SEVERITY_WARNING);
}

TEST(where_the_line_counts_its_batches_the_first_one_is_a_mark_at_most)
{
	AUTO_DONE(series) s = series_of(ROLE_LOSS);

	s.gap = 50;
	for (int i = 0; i < 700; i++) {
		s.in_epoch = 50 * (uint32_t)(i % 300) + 1;
		feed(&s, i == 300 ? 3 : 2 * (1 + 0.01 * noise(&s)));
	}
	check_no_pages(&s);
	s.in_epoch += 50;
	feed(&s, 3);
	check_report(&s, s.count - 1, INCIDENT_OPENED, INCIDENT_LOSS_SPIKE, SEVERITY_WARNING);
}

TEST(the_same_batch_of_every_epoch_is_told_twice_and_marked_from_then_on)
{
	AUTO_DONE(series) s = series_of(ROLE_LOSS);

	for (int epoch = 0; epoch < 6; epoch++) {
		size_t before = s.count;
		feed_level(&s, 2, 0.01, 417); /* no half of an epoch, nor another simple part of it */
		CHECK_INT(s.count, before);
		feed_level(&s, 3, 0.01, 4);
		feed_level(&s, 2, 0.01, 379);
		size_t pages = 0;
		for (size_t i = before; i < s.count; i++)
			pages += report_at(&s, i)->incident.severity > SEVERITY_INFO;
		CHECK_INT(pages > 0, epoch < 2);
		CHECK(epoch > 2 || s.count > before);
	}
}

TEST(what_comes_again_and_stays_is_told)
{
	AUTO_DONE(series) s = series_of(ROLE_LOSS);

	for (int epoch = 0; epoch < 4; epoch++) {
		feed_level(&s, 2, 0.01, 400);
		feed_level(&s, 3, 0.01, epoch < 3 ? 4 : 60);
		if (epoch < 3)
			feed_level(&s, 2, 0.01, 396);
	}
	bool is_told = false;
	for (size_t i = 0; i < s.count; i++)
		is_told |= report_at(&s, i)->incident.opened_step >= 2800 &&
			   report_at(&s, i)->incident.severity > SEVERITY_INFO;
	CHECK(is_told);
}

TEST(the_next_training_in_the_same_stream_is_a_mark)
{
	AUTO_DONE(series) s = series_of(ROLE_LOSS);

	for (int i = 0; i < 6000; i++)
		feed(&s, falling(i % 2000) * (1 + 0.005 * noise(&s)));
	check_no_pages(&s);
	bool is_marked = false;
	for (size_t i = 0; i < s.count; i++)
		is_marked |= report_at(&s, i)->incident.opened_step == 2000;
	CHECK(is_marked);
	feed(&s, 9); /* and of that one the spikes are told as ever */
	feed(&s, 9);
	CHECK_INT(
		report_at(&s, s.count - 1)->incident.severity, SEVERITY_INFO); /* as high as a start: 16 points tell */
	feed_level(&s, 9, 0.005, 30);
	CHECK_INT(report_at(&s, first_page(&s))->incident.opened_step, 6000);
}

TEST(the_next_training_may_learn_more_slowly)
{
	AUTO_DONE(series) s = series_of(ROLE_LOSS);

	for (int i = 0; i < 4000; i++)
		feed(&s, (i < 2000 ? falling(i) : falling((i - 2000) * 0.3)) * (1 + 0.003 * noise(&s)));
	check_no_pages(&s);
}

/* Lines 0, 200, 400 … of one batch, of which few are odd; one that is odd by itself lies between. */
TEST(the_first_lines_of_epochs_match_though_few_of_them_were_odd)
{
	struct recur recur = {0}, without = {0};

	recur_begin(&recur, 0);
	recur_add(&recur, 800, 5);
	CHECK_INT(recur_matches(&recur, 1000, 5, 16, 0.5), 2); /* a period of 200, from the beginning on */
	CHECK_INT(recur_matches(&recur, 1001, 5, 16, 0.5), 0);
	recur_add(&recur, 1000, 5);
	recur_add(&recur, 1542, 4);
	recur_add(&recur, 1599, 4);
	recur_add(&recur, 2200, 5);
	CHECK_INT(recur_matches(&recur, 2400, 5, 16, 0.5),
		4); /* with 800, 1000, 2200, of which one told the period; and the beginning */
	CHECK_INT(recur_matches(&recur, 2400, 15.1, 16, 0.5), 0);
	recur_add(&without, 800, 5);
	CHECK_INT(recur_matches(&without, 1000, 5, 16, 0.5), 0);
}

/* A warm-up holds each where it begins, for three to nine points. */
TEST(the_next_training_may_begin_with_a_warm_up)
{
	AUTO_DONE(series) s = series_of(ROLE_LOSS);
	static const int held[] = {8, 4, 9, 3};

	for (int i = 0; i < 8000; i++) {
		int since = i % 2000 - held[i / 2000];
		feed(&s, falling(since > 0 ? since : 0) * (1 + 0.005 * noise(&s)));
	}
	check_no_pages(&s);
}

TEST(places_at_equal_distances_match)
{
	struct recur recur = {0};

	for (int k = 1; k <= 3; k++)
		recur_add(&recur, 1000 * k + 7, 5);
	CHECK_INT(recur_matches(&recur, 4007, 5, 16, 0), 2); /* on a grid of 1000 */
	CHECK_INT(recur_matches(&recur, 4008, 5, 16, 0), 0);
	CHECK_INT(recur_matches(&recur, 4009, 5, 16, 2), 2);
	CHECK_INT(recur_matches(&recur, 4014, 5, 16, 2), 0);
	CHECK_INT(recur_matches(&recur, 4007, 15, 16, 0), 2);
	CHECK_INT(recur_matches(&recur, 4007, 15.1, 16, 0), 0); /* more than three times as odd */
	for (int k = 4; k <= 20; k++)
		recur_add(&recur, 1000 * k + 7, 5);
	CHECK_INT(recur_matches(&recur, 21007, 5, 16, 0),
		6); /* eight are kept, of which the shortest distance takes one */
}
