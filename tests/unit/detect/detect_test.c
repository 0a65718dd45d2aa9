#include "detect/detector.h"
#include "model/incident.h"
#include "test.h"

#include <math.h>
#include <stdio.h>

enum { REPORTS_MAX = 64 };

struct report {
	enum incident_change change;
	struct incident incident;
};

/* One series with everything that was said about it. */
struct series {
	struct detector_set *set;
	uint64_t ordinal;
	int64_t step;
	int64_t gap; /* of steps */
	uint32_t attempt;
	uint64_t noise;
	bool is_timeless;
	double sum;
	struct report reports[REPORTS_MAX];
	size_t count;
};

static void series_done(struct series *series)
{
	detector_set_free(series->set);
}
AUTO_DONE_TYPE(series)

static struct series series_of(enum role role)
{
	struct series series = {.set = detector_set_new(role), .gap = 1, .attempt = 1, .noise = 1};

	CHECK(series.set);
	return series;
}

static void remember(void *context, enum incident_change change, const struct incident *incident)
{
	struct series *series = context;

	CHECK((change == INCIDENT_CLOSED) == (incident->state == INCIDENT_RECOVERED));
	CHECK((incident->closed_ms != 0) == (change == INCIDENT_CLOSED));
	if (series->count < REPORTS_MAX)
		series->reports[series->count] = (struct report){change, *incident};
	series->count++;
}

static void feed(struct series *series, double value)
{
	struct point point = {
		.step = series->step, .ts_ms = 1000 * (1 + series->step), .value = value, .attempt = series->attempt};

	point.line = 7 * series->ordinal;
	if (series->is_timeless)
		point.ts_ms = 1000;
	detector_set_feed(series->set, series->ordinal++, &point, remember, series);
	series->step += series->gap;
}

/* Gaussian enough: the sum of twelve. */
static double noise(struct series *series)
{
	double sum = -6;

	for (int i = 0; i < 12; i++) {
		series->noise = series->noise * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
		sum += (double)(series->noise >> 11) / (double)(UINT64_C(1) << 53);
	}
	return sum;
}

static void feed_level(struct series *series, double level, double share, int count)
{
	for (int i = 0; i < count; i++)
		feed(series, level * (1 + share * noise(series)));
}

static struct report *report_at(struct series *series, size_t index)
{
	CHECK(index < series->count && index < REPORTS_MAX);
	return &series->reports[index];
}

static void check_report(struct series *series, size_t index, enum incident_change change, enum incident_kind kind,
	enum severity severity)
{
	struct report *report = report_at(series, index);

	CHECK_INT(report->change, change);
	CHECK_INT(report->incident.kind, kind);
	CHECK_INT(report->incident.severity, severity);
}

/* A single odd point is a matter of chance: up to `most` of them. */
static void check_marks_only(struct series *series, size_t most)
{
	CHECK(series->count <= 2 * most);
	for (size_t i = 0; i < series->count; i++)
		check_report(series, i, series->reports[i].change, INCIDENT_LOSS_SPIKE, SEVERITY_INFO);
}

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
	size_t first = 0;
	while (report_at(&s, first)->incident.severity == SEVERITY_INFO) /* a mark on the way up */
		first++;
	check_report(&s, first, INCIDENT_OPENED, INCIDENT_LOSS_SPIKE, SEVERITY_WARNING);
	struct incident *opened = &report_at(&s, first)->incident;
	CHECK(opened->first_step < opened->opened_step && opened->first_step >= 290);
	CHECK(opened->opened_step < 420);
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
	CHECK_INT(report_at(&s, 2)->incident.opened_step, 500 + 9);
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
	feed_level(&s, 3, 0.01, 200);
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

/* Ten slow steps to begin with; each hundredth point is a checkpoint's. */
static void feed_rate(struct series *series, double rate, int count)
{
	for (int i = 0; i < count; i++) {
		double share = series->ordinal < 10 ? 0.4 : series->ordinal % 100 < 2 ? 0.35 : 1;
		feed(series, rate * share * (1 + 0.015 * noise(series)));
	}
}

TEST(throughput_that_falls_and_stays_is_told_and_checkpoints_are_not)
{
	AUTO_DONE(series) s = series_of(ROLE_THROUGHPUT);

	feed_rate(&s, 1750, 3000);
	CHECK_INT(s.count, 0);
	feed_rate(&s, 1750 * 0.9, 32);
	CHECK_INT(s.count, 1);
	check_report(&s, 0, INCIDENT_OPENED, INCIDENT_THROUGHPUT_DROP, SEVERITY_WARNING);
	struct incident *opened = &report_at(&s, 0)->incident;
	CHECK(opened->expected > 1730 && opened->expected < 1770 && opened->value < 1620 && opened->score < -6);
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
	check_report(&s, 0, INCIDENT_OPENED, INCIDENT_THROUGHPUT_DROP, SEVERITY_WARNING);
	struct incident *opened = &report_at(&s, 0)->incident;
	CHECK(opened->expected > 1.18 && opened->expected < 1.22 && opened->value > 1.45 && opened->value < 1.55);
	CHECK(opened->score > 6);
}

/* A curve with everything on it: noise, an odd point, a spike, NaN, a ramp, a divergence, a restart. */
static void feed_eventful(struct series *series, int from, int to)
{
	for (int i = from; i < to; i++) {
		double level = 2 + 9 / sqrt(1 + i / 30.0);
		bool is_spike = i >= 500 && i < 510, is_ramp = i >= 700 && i < 800,
		     is_divergence = i >= 900 && i < 1300;
		series->attempt = i < 1400 ? 1 : 2;
		level *= is_spike ? 2 : is_ramp ? 1 + (i - 700) / 500.0 : 1;
		level = is_divergence ? 11 : level;
		level *= i == 450 ? 1.5 : 1;
		feed(series, i == 600 || i == 20 ? NAN : level * (1 + 0.01 * noise(series)));
	}
}

static void check_same_reports(struct series *a, struct series *b)
{
	CHECK_INT(a->count, b->count);
	for (size_t i = 0; i < a->count; i++) {
		const struct incident *x = &a->reports[i].incident, *y = &b->reports[i].incident;
		CHECK_INT(a->reports[i].change, b->reports[i].change);
		CHECK_INT(x->kind, y->kind);
		CHECK_INT(x->severity, y->severity);
		CHECK_INT(x->opened_ordinal, y->opened_ordinal);
		CHECK_INT(x->first_step, y->first_step);
		CHECK_INT(x->last_step, y->last_step);
		CHECK_INT(x->line, y->line);
		CHECK_INT(x->closed_ms, y->closed_ms);
		CHECK_DOUBLE(x->value, y->value);
		CHECK_DOUBLE(x->expected, y->expected);
		CHECK_DOUBLE(x->spread, y->spread);
		CHECK_DOUBLE(x->score, y->score);
		CHECK_DOUBLE(x->worst, y->worst);
	}
}

static void restart(struct series *series, enum role role)
{
	AUTO_DONE(buf) first = BUF_INIT(1 << 20), second = BUF_INIT(1 << 20);
	struct detector_set *restored = NULL;

	detector_set_pack(series->set, &first);
	struct unpacker in = unpacker_on(buf_span(&first));
	CHECK_OK(detector_set_unpack(&restored, role, &in, &err));
	CHECK_OK(unpacker_end(&in, "state", &err));
	detector_set_free(series->set);
	series->set = restored;
	detector_set_pack(restored, &second);
	CHECK_SPAN(buf_span(&second), buf_span(&first));
}

/* The same, of a rate: slower, faster, a restart; and of a norm, whose spikes these are as well. */
static void feed_eventful_rate(struct series *series, int from, int to)
{
	for (int i = from; i < to; i++) {
		double level = i < 300 ? 100 : i < 600 ? 70 : i < 700 ? 100 : i < 900 ? 130 : i < 1000 ? 50 : 500;
		series->attempt = i < 980 ? 1 : 2;
		level *= i >= 1200 && i < 1210 ? 20 : i == 1150 ? 9 : 1;
		feed(series, level * (1 + 0.01 * noise(series)));
	}
}

/* Falls, stops early, falls to a third at once, comes back. */
static void feed_eventful_loss(struct series *series, int from, int to)
{
	for (int i = from; i < to; i++) {
		double level = 1 + 10 / sqrt(1 + fmin(i, 700) / 20.0);
		level *= i >= 1300 && i < 1400 ? 0.4 : 1;
		feed(series, level * (1 + 0.004 * noise(series)));
	}
}

/* A curve that is printed as the mean since the start of its epoch of 100 points, with a batch in it that is not like the others. */
static void feed_eventful_mean(struct series *series, int from, int to)
{
	for (int i = from; i < to; i++) {
		double value = (i >= 1150 && i < 1155 ? 4 : 2) * (1 + 0.03 * noise(series));
		series->sum = i % 100 ? series->sum + value : value;
		feed(series, series->sum / (i % 100 + 1));
	}
}

TEST(means_since_the_start_of_the_epoch_are_seen_through)
{
	AUTO_DONE(series) s = series_of(ROLE_LOSS);

	feed_eventful_mean(&s, 0, 1150);
	for (size_t i = 0; i < s.count; i++)
		CHECK_INT(report_at(&s, i)->incident.severity, SEVERITY_INFO);
	size_t before = s.count;
	feed_eventful_mean(&s, 1150, 3000);
	CHECK(s.count > before);
	check_report(&s, before, INCIDENT_OPENED, INCIDENT_LOSS_SPIKE, report_at(&s, before)->incident.severity);
	CHECK(report_at(&s, before)->incident.opened_step <= 1156);
	check_report(&s, before + 1, INCIDENT_UPDATED, INCIDENT_LOSS_SPIKE, SEVERITY_WARNING);
	CHECK(report_at(&s, before + 1)->incident.worst > 3.5); /* of the batches, not of the mean */
}

static const struct eventful {
	void (*feed)(struct series *series, int from, int to);
	enum role role;
	size_t least; /* reports */
} eventful[] = {{feed_eventful, ROLE_LOSS, 8}, {feed_eventful_loss, ROLE_LOSS, 4}, {feed_eventful_mean, ROLE_LOSS, 1},
	{feed_eventful_rate, ROLE_THROUGHPUT, 5}, {feed_eventful_rate, ROLE_STEP_TIME, 5},
	{feed_eventful_rate, ROLE_GRAD_NORM, 4}};

TEST(a_state_restored_anywhere_says_exactly_the_same)
{
	for (size_t k = 0; k < sizeof eventful / sizeof eventful[0]; k++) {
		AUTO_DONE(series) whole = series_of(eventful[k].role);
		eventful[k].feed(&whole, 0, 1500);
		CHECK(whole.count >= eventful[k].least && whole.count <= REPORTS_MAX);
		AUTO_DONE(series) s = series_of(eventful[k].role);
		for (int i = 0; i < 1500; i++) { /* at every place of one curve */
			eventful[k].feed(&s, i, i + 1);
			restart(&s, eventful[k].role);
		}
		check_same_reports(&s, &whole);
	}
}

TEST(states_are_small_and_damage_is_refused)
{
	AUTO_DONE(series) s = series_of(ROLE_LOSS);
	AUTO_DONE(buf) state = BUF_INIT(1 << 20);

	feed_eventful(&s, 0, 505);
	detector_set_pack(s.set, &state);
	CHECK(state.len < 4096);
	for (size_t len = 0; len < state.len; len++) {
		AUTO(detector_set) restored = NULL;
		struct unpacker in = unpacker_on(span_of(state.ptr, len));
		CHECK_FAILS(detector_set_unpack(&restored, ROLE_LOSS, &in, &err), ERR_INVALID, "damaged");
	}
	for (size_t k = 0; k < sizeof eventful / sizeof eventful[0]; k++) {
		AUTO_DONE(series) any = series_of(eventful[k].role);
		AUTO_DONE(buf) cut = BUF_INIT(1 << 20);
		eventful[k].feed(&any, 0, 1205);
		detector_set_pack(any.set, &cut);
		for (size_t len = 0; len < cut.len; len++) {
			AUTO(detector_set) restored = NULL;
			struct unpacker in = unpacker_on(span_of(cut.ptr, len));
			CHECK_FAILS(
				detector_set_unpack(&restored, eventful[k].role, &in, &err), ERR_INVALID, "damaged");
		}
	}
	AUTO(detector_set) other = NULL;
	struct unpacker in = unpacker_on(buf_span(&state));
	CHECK_FAILS(detector_set_unpack(&other, ROLE_GRAD_NORM, &in, &err), ERR_INVALID, "not of role grad_norm");
}

/* States of detectors that have seen nothing: a head, then zeros. When a row of the newest format fails, a kind was added or
 * its state changed: raise FORMAT (server/detect/detector_set.c) and say what reads which format, or every stream of an older
 * database counts as damaged. Then add rows for the new format; none ever goes. */
static const struct stored {
	enum role role;
	unsigned format;
	size_t zeros;
} stored[] = {{ROLE_LOSS, 0, 13}, {ROLE_LOSS, 3, 139}, {ROLE_EVAL_LOSS, 3, 12}, {ROLE_GRAD_NORM, 3, 13},
	{ROLE_THROUGHPUT, 3, 50}, {ROLE_STEP_TIME, 3, 50}};

TEST(states_of_each_format_are_taken_over)
{
	const struct stored *newest = &stored[sizeof stored / sizeof stored[0] - 1];

	for (size_t k = 0; k < sizeof stored / sizeof stored[0]; k++) {
		AUTO_DONE(buf) state = BUF_INIT(1 << 12), now = BUF_INIT(1 << 12);
		pack_u64(&state, stored[k].role | stored[k].format << 8);
		for (size_t i = 0; i < stored[k].zeros; i++)
			buf_append_char(&state, 0);
		AUTO(detector_set) set = NULL;
		struct unpacker in = unpacker_on(buf_span(&state));
		CHECK_OK(detector_set_unpack(&set, stored[k].role, &in, &err));
		CHECK_OK(unpacker_end(&in, "state", &err));
		detector_set_pack(set, &now);
		if (stored[k].format == newest->format)
			CHECK(span_equal(buf_span(&now), buf_span(&state)));
	}
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
