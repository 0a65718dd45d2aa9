/* An entropy that falls to a small part of what it was; a reward that loses what it had gained. */
#include "series.h"

/* Falls as that of a healthy run does, by a power law towards a floor. */
static double decay(int i)
{
	return 0.15 + 0.85 / sqrt(1 + i / 50.0);
}

static double rise(int i)
{
	return 0.1 + 0.6 * (1 - exp(-i / 120.0));
}

static void feed_decay(struct series *series, int count)
{
	for (int i = 0; i < count; i++)
		feed(series, decay(i) * (1 + 0.04 * noise(series)));
}

static void feed_rise(struct series *series, int count)
{
	for (int i = 0; i < count; i++)
		feed(series, rise(i) + 0.04 * noise(series));
}

TEST(an_entropy_that_falls_to_little_and_stays_is_told_within_32_points)
{
	AUTO_DONE(series) s = series_of(ROLE_ENTROPY);

	feed_decay(&s, 400);
	CHECK_INT(s.count, 0);
	feed_level(&s, 0.02, 0.1, 32);
	CHECK_INT(s.count, 1);
	check_report(&s, 0, INCIDENT_OPENED, INCIDENT_ENTROPY_COLLAPSE, SEVERITY_WARNING);
	struct incident *opened = &report_at(&s, 0)->incident;
	CHECK_INT(opened->first_step, 400);
	CHECK(opened->value > 0.01 && opened->value < 0.05);
	CHECK(opened->expected > 0.8 * decay(400) && opened->expected < 1.2 * decay(400));
	CHECK(opened->score < -6);
	feed_level(&s, 0.4, 0.04, 24);
	CHECK_INT(s.count, 2);
	check_report(&s, 1, INCIDENT_CLOSED, INCIDENT_ENTROPY_COLLAPSE, SEVERITY_WARNING);
}

TEST(a_fall_over_a_hundred_points_is_told)
{
	AUTO_DONE(series) s = series_of(ROLE_ENTROPY);

	feed_decay(&s, 600);
	for (int i = 0; i < 100; i++)
		feed(&s, decay(600) * (1 - 0.95 * i / 100) * (1 + 0.04 * noise(&s)));
	feed_level(&s, 0.05 * decay(600), 0.04, 40);
	CHECK_INT(s.count, 1);
	check_report(&s, 0, INCIDENT_OPENED, INCIDENT_ENTROPY_COLLAPSE, SEVERITY_WARNING);
}

TEST(an_entropy_that_decays_as_it_began_is_silent)
{
	AUTO_DONE(series) power = series_of(ROLE_ENTROPY);
	AUTO_DONE(series) exponential = series_of(ROLE_ENTROPY);
	AUTO_DONE(series) straight = series_of(ROLE_ENTROPY);

	for (int i = 0; i < 4000; i++) {
		feed(&power, 1.2 / sqrt(1 + i / 5.0) * (1 + 0.05 * noise(&power)));
		feed(&exponential, (0.02 + exp(-i / 300.0)) * (1 + 0.05 * noise(&exponential)));
		feed(&straight, (1 - 0.97 * fmin(i, 3000) / 3000) * (1 + 0.05 * noise(&straight)));
	}
	CHECK_INT(power.count, 0);
	CHECK_INT(exponential.count, 0);
	CHECK_INT(straight.count, 0);
}

TEST(an_entropy_below_0_or_about_it_is_silent)
{
	AUTO_DONE(series) s = series_of(ROLE_ENTROPY);

	for (int i = 0; i < 3000; i++) /* of continuous actions: it goes through 0 */
		feed(&s, 8 - 0.004 * i + 0.1 * noise(&s));
	CHECK_INT(s.count, 0);
}

TEST(an_entropy_that_is_printed_turned_round_is_told)
{
	AUTO_DONE(series) s = series_of(ROLE_ENTROPY);

	feed_level(&s, -1.38, 0.02, 200);
	feed_level(&s, -0.03, 0.1, 32);
	CHECK_INT(s.count, 1);
	check_report(&s, 0, INCIDENT_OPENED, INCIDENT_ENTROPY_COLLAPSE, SEVERITY_WARNING);
	struct incident *opened = &report_at(&s, 0)->incident;
	CHECK(opened->value < 0 && opened->value > -0.1 && opened->expected < -1.3 && opened->expected > -1.45);
	CHECK(opened->score > 6);
}

TEST(an_entropy_that_goes_down_and_up_again_is_silent)
{
	AUTO_DONE(series) s = series_of(ROLE_ENTROPY);

	for (int i = 0; i < 6000; i++)
		feed(&s, (0.5 + 0.3 * cos(i / 60.0)) * (1 + 0.05 * noise(&s)));
	CHECK_INT(s.count, 0);
}

TEST(a_reward_that_loses_half_its_gain_and_stays_is_told)
{
	AUTO_DONE(series) s = series_of(ROLE_REWARD);

	feed_rise(&s, 500);
	CHECK_INT(s.count, 0);
	for (int i = 0; i < 40; i++)
		feed(&s, 0.2 + 0.04 * noise(&s));
	CHECK_INT(s.count, 1);
	check_report(&s, 0, INCIDENT_OPENED, INCIDENT_REWARD_COLLAPSE, SEVERITY_WARNING);
	struct incident *opened = &report_at(&s, 0)->incident;
	CHECK_INT(opened->first_step / 8, 500 / 8);
	CHECK(opened->value > 0.1 && opened->value < 0.4 && opened->expected > 0.6 && opened->expected < 0.75);
	for (int i = 0; i < 480; i++)
		feed(&s, 0.2 + 0.04 * noise(&s));
	CHECK_INT(s.count, 1);
	for (int i = 0; i < 64; i++)
		feed(&s, 0.2 + 0.04 * noise(&s));
	CHECK_INT(s.count, 2); /* it is the new level */
	check_report(&s, 1, INCIDENT_CLOSED, INCIDENT_REWARD_COLLAPSE, SEVERITY_WARNING);
}

TEST(a_success_rate_that_falls_is_told_though_each_point_is_0_or_1)
{
	AUTO_DONE(series) s = series_of(ROLE_REWARD);

	for (int i = 0; i < 800; i++)
		feed(&s, noise(&s) < -2 + 3.5 * (1 - exp(-i / 100.0)));
	CHECK_INT(s.count, 0);
	for (int i = 0; i < 80; i++)
		feed(&s, noise(&s) < -2);
	CHECK_INT(s.count, 1);
	check_report(&s, 0, INCIDENT_OPENED, INCIDENT_REWARD_COLLAPSE, SEVERITY_WARNING);
}

TEST(a_reward_that_is_flat_noisy_or_sparse_is_silent)
{
	AUTO_DONE(series) flat = series_of(ROLE_REWARD);
	AUTO_DONE(series) noisy = series_of(ROLE_REWARD);
	AUTO_DONE(series) sparse = series_of(ROLE_REWARD);

	for (int i = 0; i < 10000; i++) {
		feed(&flat, i < 5000 ? 0.25 : 0);
		feed(&noisy, rise(i) + 0.5 * noise(&noisy));
		feed(&sparse, noise(&sparse) > 2);
	}
	CHECK_INT(flat.count, 0);
	CHECK_INT(noisy.count, 0);
	CHECK_INT(sparse.count, 0);
}

TEST(one_bad_evaluation_or_a_few_bad_points_are_no_collapse)
{
	AUTO_DONE(series) s = series_of(ROLE_REWARD);

	for (int i = 0; i < 2000; i++)
		feed(&s, (i % 250 >= 230 && i > 200 && i % 250 < 242 ? 0.05 : rise(i)) + 0.03 * noise(&s));
	CHECK_INT(s.count, 0);
}

TEST(a_slow_loss_of_the_gain_is_no_collapse)
{
	AUTO_DONE(series) s = series_of(ROLE_REWARD);

	for (int i = 0; i < 4000; i++)
		feed(&s, (i < 1000 ? rise(i) : 0.7 - 0.5 * fmin(1, (i - 1000) / 2000.0)) + 0.03 * noise(&s));
	CHECK_INT(s.count, 0);
}

TEST(a_restart_of_the_job_ends_a_collapse_and_nan_is_no_point)
{
	AUTO_DONE(series) s = series_of(ROLE_REWARD);

	feed_rise(&s, 500);
	for (int i = 0; i < 40; i++) {
		feed(&s, NAN);
		feed(&s, 0.1 + 0.04 * noise(&s));
	}
	CHECK_INT(s.count, 1);
	s.attempt = 2;
	feed(&s, 0.1);
	CHECK_INT(s.count, 2);
	check_report(&s, 1, INCIDENT_CLOSED, INCIDENT_REWARD_COLLAPSE, SEVERITY_WARNING);
}
