#include "series.h"

TEST(a_spike_opens_within_two_points_and_recovers)
{
	AUTO_DONE(series) s = series_of(ROLE_LOSS);

	feed_level(&s, 3, 0.01, 64);
	feed_level(&s, 6, 0.01, 2);
	check_report(&s, 0, INCIDENT_OPENED, INCIDENT_LOSS_SPIKE, SEVERITY_INFO);
	check_report(&s, 1, INCIDENT_UPDATED, INCIDENT_LOSS_SPIKE, SEVERITY_WARNING);
	feed_level(&s, 6, 0.01, 3);
	feed_level(&s, 3, 0.01, 30);
	struct incident *closed = &report_at(&s, s.count - 1)->incident;
	check_report(&s, s.count - 1, INCIDENT_CLOSED, INCIDENT_LOSS_SPIKE, SEVERITY_WARNING);
	CHECK_INT(closed->first_step, 64);
	CHECK_INT(closed->opened_step, 64);
	CHECK_INT(closed->opened_ordinal, 64);
	CHECK_INT(closed->last_step, 68);
	CHECK_INT(closed->line, 64 * 7);
	CHECK_INT(closed->opened_ms, 1000 * 65);
	CHECK(closed->closed_ms > 1000 * 69 && closed->closed_ms < 1000 * 86);
	CHECK(closed->worst >= closed->value && closed->worst < 6.3);
	CHECK(closed->expected > 2.9 && closed->expected < 3.1);
	CHECK(closed->score > 8);
	CHECK(closed->spread > 0.006 && closed->spread < 0.1);
}

TEST(a_spike_is_seen_with_twenty_points_of_history)
{
	AUTO_DONE(series) s = series_of(ROLE_LOSS);

	feed_level(&s, 3, 0.01, 21);
	feed_level(&s, 6, 0.01, 3);
	check_report(&s, 0, INCIDENT_OPENED, INCIDENT_LOSS_SPIKE, SEVERITY_INFO);
	check_report(&s, 1, INCIDENT_UPDATED, INCIDENT_LOSS_SPIKE, SEVERITY_WARNING);
}

TEST(a_spike_is_seen_while_the_loss_falls)
{
	AUTO_DONE(series) s = series_of(ROLE_LOSS);

	for (int i = 0; i < 64; i++)
		feed(&s, (2 + 9 / sqrt(1 + i / 60.0)) * (1 + 0.01 * noise(&s)));
	CHECK_INT(s.count, 0);
	for (int i = 64; i < 66; i++)
		feed(&s, 2 * (2 + 9 / sqrt(1 + i / 60.0)));
	check_report(&s, 1, INCIDENT_UPDATED, INCIDENT_LOSS_SPIKE, SEVERITY_WARNING);
}

TEST(one_odd_point_is_a_mark)
{
	AUTO_DONE(series) s = series_of(ROLE_LOSS);

	feed_level(&s, 3, 0.01, 200);
	feed(&s, 4);
	feed_level(&s, 3, 0.01, 200);
	CHECK_INT(s.count, 2);
	check_report(&s, 0, INCIDENT_OPENED, INCIDENT_LOSS_SPIKE, SEVERITY_INFO);
	check_report(&s, 1, INCIDENT_CLOSED, INCIDENT_LOSS_SPIKE, SEVERITY_INFO);
	CHECK_INT(report_at(&s, 1)->incident.first_step, 200);
	CHECK_INT(report_at(&s, 1)->incident.closed_ms, 1000 * 202);
}

TEST(healthy_curves_are_silent)
{
	static const double shares[] = {0.001, 0.01, 0.03};

	for (size_t k = 0; k < sizeof shares / sizeof shares[0]; k++) {
		AUTO_DONE(series) s = series_of(ROLE_LOSS);
		for (int i = 0; i < 20000; i++)
			feed(&s, (1.8 + 9.2 / pow(1 + i / 60.0, 0.45)) * (1 + shares[k] * noise(&s)));
		check_marks_only(&s, 2);
	}
}

TEST(constant_quantised_and_falling_columns_are_silent)
{
	AUTO_DONE(series) s = series_of(ROLE_LOSS);
	AUTO_DONE(series) q = series_of(ROLE_LOSS);
	AUTO_DONE(series) f = series_of(ROLE_LOSS);

	for (int i = 0; i < 1000; i++) {
		feed(&s, 0);
		feed(&q, 0.4 + 0.01 * (i % 7 == 0)); /* two decimals */
		feed(&f, (i < 500 ? 3 : 2.4) + 0.01 * noise(&f));
	}
	CHECK_INT(s.count, 0);
	CHECK_INT(q.count, 0);
	check_marks_only(&f, 1);
}

TEST(a_ramp_is_found_by_its_sum)
{
	AUTO_DONE(series) s = series_of(ROLE_LOSS);

	feed_level(&s, 2, 0.005, 300);
	for (int i = 0; i < 200; i++)
		feed(&s, (2 + 0.2 * i / 200) * (1 + 0.005 * noise(&s)));
	CHECK(s.count > 0);
	check_report(&s, 0, INCIDENT_OPENED, INCIDENT_LOSS_SPIKE, SEVERITY_INFO);
	struct incident *opened = &report_at(&s, 0)->incident;
	CHECK(opened->first_step <= opened->opened_step && opened->first_step >= 290);
	CHECK(opened->opened_step < 420);
	for (int i = 200; i < 500; i++) /* a fifth: of a series of any age */
		feed(&s, (2 + 0.2 * i / 200) * (1 + 0.005 * noise(&s)));
	CHECK_INT(report_at(&s, s.count - 1)->incident.severity, SEVERITY_WARNING);
}

TEST(back_to_the_start_is_a_divergence)
{
	AUTO_DONE(series) s = series_of(ROLE_LOSS);

	for (int i = 0; i < 500; i++)
		feed(&s, (2 + 9 / sqrt(1 + i / 30.0)) * (1 + 0.01 * noise(&s)));
	feed_level(&s, 10, 0.02, 300);
	CHECK_INT(s.count, 4);
	check_report(
		&s, 2, INCIDENT_OPENED, INCIDENT_DIVERGENCE, SEVERITY_CRITICAL); /* something is open all the time */
	check_report(&s, 3, INCIDENT_CLOSED, INCIDENT_LOSS_SPIKE, SEVERITY_WARNING);
	CHECK_INT(report_at(&s, 2)->incident.first_step, 500);
	/* 16 points tell that no training begins there again; then 8 that are half way back */
	CHECK_INT(report_at(&s, 1)->incident.opened_step, 500);
	CHECK(report_at(&s, 2)->incident.opened_step <= 500 + 16 + 9);
	feed_level(&s, 4, 0.01, 60);
	CHECK_INT(s.count, 5);
	check_report(&s, 4, INCIDENT_CLOSED, INCIDENT_DIVERGENCE, SEVERITY_CRITICAL);
}

TEST(staying_up_is_a_divergence_or_the_new_level)
{
	AUTO_DONE(series) s = series_of(ROLE_LOSS);
	AUTO_DONE(series) low = series_of(ROLE_LOSS);

	feed_level(&s, 3, 0.01, 300);
	feed_level(&s, 4.5, 0.01, 300);
	check_report(&s, s.count - 2, INCIDENT_OPENED, INCIDENT_DIVERGENCE, SEVERITY_CRITICAL);
	feed_level(&low, 3, 0.01, 300);
	feed_level(&low, 3.3, 0.01, 300); /* a tenth up */
	check_report(&low, low.count - 1, INCIDENT_CLOSED, INCIDENT_LOSS_SPIKE, SEVERITY_WARNING);
	size_t before = low.count;
	feed_level(&low, 3.3, 0.01, 1000);
	CHECK_INT(low.count, before);
}

TEST(a_new_attempt_starts_afresh)
{
	AUTO_DONE(series) s = series_of(ROLE_LOSS);

	feed_level(&s, 2, 0.01, 300);
	feed_level(&s, 4, 0.01, 4);
	s.attempt = 2;
	feed_level(&s, 9, 0.01, 300);
	check_report(&s, s.count - 1, INCIDENT_CLOSED, INCIDENT_LOSS_SPIKE, SEVERITY_WARNING);
}

TEST(extreme_values_do_no_harm)
{
	AUTO_DONE(series) s = series_of(ROLE_LOSS);
	static const double values[] = {1e308, -1e308, 0, 5e-324, 1, -1};

	for (int i = 0; i < 500; i++)
		feed(&s, values[(i * 7 + i / 13) % 6]);
	CHECK(s.count < 500);
}

TEST(a_nan_is_critical_at_once)
{
	static const enum role roles[] = {ROLE_LOSS, ROLE_EVAL_LOSS, ROLE_GRAD_NORM};
	static const double bad[] = {NAN, INFINITY, -INFINITY};

	for (size_t i = 0; i < 3; i++) {
		AUTO_DONE(series) s = series_of(roles[i]);
		feed(&s, 2);
		feed(&s, bad[i]);
		CHECK_INT(s.count, 1);
		check_report(&s, 0, INCIDENT_OPENED, INCIDENT_NON_FINITE, SEVERITY_CRITICAL);
		CHECK_DOUBLE(report_at(&s, 0)->incident.value, bad[i]);
		CHECK_DOUBLE(report_at(&s, 0)->incident.expected, 2);
		feed_level(&s, 2, 0.01, 4);
		feed(&s, NAN);
		feed_level(&s, 2, 0.01, 4);
		CHECK_INT(s.count, 1);
		feed(&s, 2);
		check_report(&s, 1, INCIDENT_CLOSED, INCIDENT_NON_FINITE, SEVERITY_CRITICAL);
		CHECK_INT(report_at(&s, 1)->incident.last_step, 6);
	}
}

TEST(nan_from_the_beginning_is_a_warning_at_the_third)
{
	AUTO_DONE(series) s = series_of(ROLE_LOSS);

	feed(&s, NAN);
	feed(&s, NAN);
	CHECK_INT(s.count, 0);
	feed(&s, NAN);
	check_report(&s, 0, INCIDENT_OPENED, INCIDENT_NON_FINITE, SEVERITY_WARNING);
	CHECK_INT(report_at(&s, 0)->incident.first_step, 0);
	CHECK_INT(report_at(&s, 0)->incident.opened_step, 2);
	feed_level(&s, 2, 0.01, 5);
	check_report(&s, 1, INCIDENT_CLOSED, INCIDENT_NON_FINITE, SEVERITY_WARNING);
	feed(&s, NAN);
	check_report(&s, 2, INCIDENT_OPENED, INCIDENT_NON_FINITE, SEVERITY_CRITICAL);
}

/* As GNMT prints it: only where the loss scale was too high, with the step of the last line. */
TEST(infinities_here_and_there_are_a_loss_scale_that_settles)
{
	static const int64_t gaps[] = {0, 0, 60, 70, 0, 950, 130, 1280, 1290};
	AUTO_DONE(series) s = series_of(ROLE_GRAD_NORM);

	for (size_t i = 0; i < sizeof gaps / sizeof gaps[0]; i++) {
		feed(&s, INFINITY);
		s.step += gaps[i] - s.gap;
	}
	CHECK_INT(s.count, 0);
	feed(&s, NAN);
	feed(&s, NAN);
	CHECK_INT(s.count, 0);
	feed(&s, NAN);
	check_report(&s, 0, INCIDENT_OPENED, INCIDENT_NON_FINITE, SEVERITY_WARNING);
	AUTO_DONE(series) other = series_of(ROLE_GRAD_NORM);
	other.gap = 10;
	for (int i = 0; i < 3; i++)
		feed(&other, INFINITY); /* each line has one */
	check_report(&other, 0, INCIDENT_OPENED, INCIDENT_NON_FINITE, SEVERITY_WARNING);
}

/* As a public chronicle prints it: times the loss scale, with thousands of steps left out. */
TEST(a_norm_after_a_stretch_of_which_nothing_is_known_is_compared_with_nothing)
{
	AUTO_DONE(series) s = series_of(ROLE_GRAD_NORM);

	feed_level(&s, 2500, 0.1, 60);
	s.step += 3400;
	feed_level(&s, 80000, 0.1, 40);
	CHECK_INT(s.count, 0);
	s.step += 900; /* a thousand steps are a stretch */
	feed_level(&s, 2500000, 0.1, 3);
	check_report(&s, s.count - 1, report_at(&s, s.count - 1)->change, INCIDENT_GRAD_SPIKE, SEVERITY_WARNING);
}

TEST(one_unit_of_the_last_digit_is_no_spike_where_all_values_were_the_same)
{
	AUTO_DONE(series) s = series_of(ROLE_LOSS);

	s.gap = 100;
	for (int i = 0; i < 400; i++)
		feed(&s, 0.071);
	feed(&s, 0.073);
	CHECK_INT(s.count, 0);
	for (int i = 0; i < 20; i++)
		feed(&s, 0.071);
	feed(&s, 0.081);
	CHECK_INT(report_at(&s, 0)->incident.kind, INCIDENT_LOSS_SPIKE);
}

TEST(other_roles_may_be_anything)
{
	AUTO_DONE(series) s = series_of(ROLE_OTHER);

	feed_level(&s, 100, 0.01, 200);
	feed(&s, NAN);
	feed_level(&s, 300, 0.01, 200);
	feed_level(&s, 30, 0.01, 200);
	CHECK_INT(s.count, 0);
}

TEST(a_point_that_stands_for_many_steps_may_be_the_whole_spike)
{
	AUTO_DONE(series) s = series_of(ROLE_LOSS);

	s.gap = 5;
	feed_level(&s, 3, 0.01, 256 - 1);
	feed(&s, 4);
	check_report(&s, 0, INCIDENT_OPENED, INCIDENT_LOSS_SPIKE, SEVERITY_WARNING);
	feed_level(&s, 3, 0.01, 20);
	check_report(&s, 1, INCIDENT_CLOSED, INCIDENT_LOSS_SPIKE, SEVERITY_WARNING);
	CHECK_INT(s.count, 2);
}

/* The lag-one correlation is `share`; the standard deviation one per cent of the level. */
static void feed_correlated(struct series *series, double level, double share, int count)
{
	double left = 0;

	for (int i = 0; i < count; i++) {
		left = share * left + sqrt(1 - share * share) * noise(series);
		feed(series, level * (1 + 0.01 * left));
	}
}

TEST(a_small_spike_on_a_correlated_curve_is_a_mark)
{
	AUTO_DONE(series) s = series_of(ROLE_LOSS);

	feed_correlated(&s, 3, 0.6, 300);
	CHECK_INT(s.count, 0);
	feed(&s, 3 * 1.07);
	check_report(&s, 0, INCIDENT_OPENED, INCIDENT_LOSS_SPIKE, SEVERITY_INFO);
}

TEST(a_loss_that_falls_too_far_at_once_is_told)
{
	AUTO_DONE(series) s = series_of(ROLE_LOSS);
	AUTO_DONE(series) stairs = series_of(ROLE_LOSS);

	feed_level(&s, 3, 0.01, 300);
	feed_level(&s, 1.8, 0.01, 40);
	CHECK_INT(s.count, 1);
	check_report(&s, 0, INCIDENT_OPENED, INCIDENT_LOSS_DROP, SEVERITY_WARNING);
	struct incident *opened = &report_at(&s, 0)->incident;
	CHECK(opened->first_step >= 300 && opened->first_step <= 304 && opened->opened_step < 320);
	CHECK(opened->expected > 2.95 && opened->expected < 3.05);
	CHECK(opened->value > 1.7 && opened->value < 1.9);
	feed_level(&s, 3, 0.01, 20);
	size_t last = s.count - 1;
	while (report_at(&s, last)->incident.kind != INCIDENT_LOSS_DROP) /* the way back is a jump as well */
		last--;
	check_report(&s, last, INCIDENT_CLOSED, INCIDENT_LOSS_DROP, SEVERITY_WARNING);
	for (int epoch = 0; epoch < 6; epoch++)
		feed_level(&stairs, 1.5 * pow(0.75, epoch), 0.05, 400);
	check_marks_only(&stairs, 2);
}

static size_t count_drops(struct series *series)
{
	size_t drops = 0;

	for (size_t i = 0; i < series->count; i++)
		drops += report_at(series, i)->incident.kind == INCIDENT_LOSS_DROP;
	return drops;
}

TEST(epochs_of_fine_tuning_may_step_down_far)
{
	AUTO_DONE(series) s = series_of(ROLE_LOSS);

	s.gap = 10;
	feed_level(&s, 0.42, 0.02, 217);
	feed_level(&s, 0.32, 0.02, 217);
	feed_level(&s, 0.19, 0.02, 217);
	feed_level(&s, 0.12, 0.02, 317);
	CHECK_INT(count_drops(&s), 0);
	feed_level(&s, 0.06, 0.02, 50); /* and again, but not where an epoch ends */
	CHECK_INT(count_drops(&s), 1);
}

TEST(a_curve_that_stops_falling_early_is_a_plateau)
{
	AUTO_DONE(series) s = series_of(ROLE_LOSS);
	AUTO_DONE(series) healthy = series_of(ROLE_LOSS);
	AUTO_DONE(series) settled = series_of(ROLE_LOSS);

	for (int i = 0; i < 8000; i++) {
		feed(&s, (1 + 10 / sqrt(1 + fmin(i, 3000) / 60.0)) * (1 + 0.005 * noise(&s)));
		feed(&healthy, (1 + 10 / sqrt(1 + i / 60.0)) * (1 + 0.005 * noise(&healthy)));
		feed(&settled, (1 + 3 * exp(-i / 500.0)) * (1 + 0.005 * noise(&settled)));
	}
	check_report(&s, s.count - 1, INCIDENT_OPENED, INCIDENT_PLATEAU, SEVERITY_INFO);
	struct incident *opened = &report_at(&s, s.count - 1)->incident;
	CHECK(opened->opened_step > 3000 && opened->opened_step < 6000 && opened->expected < opened->value);
	for (size_t i = 0; i < healthy.count; i++)
		CHECK_INT(report_at(&healthy, i)->incident.kind, INCIDENT_LOSS_SPIKE);
	for (size_t i = 0; i < settled.count; i++)
		CHECK_INT(report_at(&settled, i)->incident.kind, INCIDENT_LOSS_SPIKE);
}

TEST(a_plateau_is_found_wherever_it_begins)
{
	static const int places[] = {2100, 2500, 3000, 3500, 3900};

	for (size_t k = 0; k < sizeof places / sizeof places[0]; k++) {
		AUTO_DONE(series) s = series_of(ROLE_LOSS);
		for (int i = 0; i < 2 * places[k]; i++)
			feed(&s, (1 + 10 / sqrt(1 + fmin(i, places[k]) / 60.0)) * (1 + 0.005 * noise(&s)));
		bool is_found = false;
		for (size_t i = 0; i < s.count; i++)
			is_found |= report_at(&s, i)->incident.kind == INCIDENT_PLATEAU &&
				    report_at(&s, i)->incident.opened_step > places[k];
		CHECK(is_found);
	}
}

TEST(a_gradient_norm_that_explodes_is_told_and_one_odd_one_is_a_mark)
{
	AUTO_DONE(series) s = series_of(ROLE_GRAD_NORM);
	static const double chronicle[] = {0.947, 2.41, 15.9, 145, 960};

	feed_level(&s, 0.24, 0.05, 200);
	feed(&s, 2);
	feed_level(&s, 0.24, 0.05, 20);
	check_report(&s, 0, INCIDENT_OPENED, INCIDENT_GRAD_SPIKE, SEVERITY_INFO);
	check_report(&s, 1, INCIDENT_CLOSED, INCIDENT_GRAD_SPIKE, SEVERITY_INFO);
	CHECK_INT(s.count, 2);
	feed(&s, chronicle[0]);
	feed(&s, chronicle[1]);
	check_report(&s, 2, INCIDENT_OPENED, INCIDENT_GRAD_SPIKE, SEVERITY_WARNING);
	CHECK_INT(report_at(&s, 2)->incident.first_step, 221);
	CHECK_INT(report_at(&s, 2)->incident.opened_step, 222);
	for (size_t i = 2; i < 5; i++)
		feed(&s, chronicle[i]);
	feed(&s, 0); /* a skipped step */
	feed_level(&s, 0.24, 0.05, 3);
	struct incident *closed = &report_at(&s, s.count - 1)->incident;
	check_report(&s, s.count - 1, INCIDENT_CLOSED, INCIDENT_GRAD_SPIKE, SEVERITY_WARNING);
	CHECK_DOUBLE(closed->worst, 960);
	CHECK_INT(closed->worst_step, 225);
	CHECK_INT(closed->last_step, 225);
}

TEST(out_of_memory_is_blind_but_alive)
{
	AUTO_DONE(series) s = series_of(ROLE_LOSS);

	mem_fail_at(1);
	feed(&s, 2);
	mem_fail_at(0);
	feed_level(&s, 2, 0.01, 100);
	feed_level(&s, 4, 0.01, 2);
	CHECK_INT(s.count, 2);
	for (long nth = 1; nth < 4; nth++) {
		mem_fail_at(nth);
		AUTO(detector_set) set = detector_set_new(ROLE_LOSS);
		mem_fail_at(0);
		CHECK(!set);
	}
}
