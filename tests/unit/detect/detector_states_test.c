/* What is stored of detectors, and read again. */
#include "series.h"

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

/* Lines that are odd at equal distances, a spike that comes again, a slow rise, another training in the same stream. */
static void feed_eventful_epochs(struct series *series, int from, int to)
{
	for (int i = from; i < to; i++) {
		int since = i < 1000 ? i : i - 1000;
		double level = 2 + 9 / sqrt(1 + since / 30.0);
		level *= i % 200 >= 150 && i % 200 < 154 && i > 200 && i < 1000 ? 1.4 : 1;
		level *= i > 400 && i < 700 ? 1 + 0.001 * (i - 400) : 1;
		feed(series, level * (1 + (i % 25 ? 0.01 : 0.06) * noise(series)));
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

/* An entropy that collapses and comes back, wanders, and collapses again. */
static void feed_eventful_entropy(struct series *series, int from, int to)
{
	for (int i = from; i < to; i++) {
		double level = 0.4 + 0.4 / sqrt(1 + i / 100.0);
		bool is_low = (i >= 500 && i < 600) || i >= 1140;
		series->attempt = i < 1400 ? 1 : 2;
		level *= i >= 800 && i < 840 ? 0.7 : i < 1000 && is_low ? 0.06 : is_low ? 0.02 : 1;
		feed(series, level * (1 + 0.03 * noise(series)));
	}
}

/* A reward that rises, collapses, comes back, and falls beyond where it began. */
static void feed_eventful_reward(struct series *series, int from, int to)
{
	for (int i = from; i < to; i++) {
		double level = 0.1 + 0.6 * (1 - exp(-i / 100.0));
		level = i >= 500 && i < 560 ? 0.2 : i >= 800 && i < 840 ? 0.6 : i >= 1140 ? -0.5 : level;
		series->attempt = i < 1400 ? 1 : 2;
		feed(series, level + 0.03 * noise(series));
	}
}

static const struct eventful {
	void (*feed)(struct series *series, int from, int to);
	enum role role;
	size_t least; /* reports */
} eventful[] = {{feed_eventful, ROLE_LOSS, 8}, {feed_eventful_loss, ROLE_LOSS, 4}, {feed_eventful_mean, ROLE_LOSS, 1},
	{feed_eventful_epochs, ROLE_LOSS, 6}, {feed_eventful_rate, ROLE_THROUGHPUT, 5},
	{feed_eventful_rate, ROLE_STEP_TIME, 5}, {feed_eventful_rate, ROLE_GRAD_NORM, 4},
	{feed_eventful_entropy, ROLE_ENTROPY, 4}, {feed_eventful_reward, ROLE_REWARD, 4}};

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
	{ROLE_THROUGHPUT, 3, 50}, {ROLE_STEP_TIME, 3, 50}, {ROLE_LOSS, 4, 139}, {ROLE_EVAL_LOSS, 4, 12},
	{ROLE_GRAD_NORM, 4, 13}, {ROLE_THROUGHPUT, 4, 132}, {ROLE_STEP_TIME, 4, 132}, {ROLE_LOSS, 5, 139},
	{ROLE_EVAL_LOSS, 5, 12}, {ROLE_GRAD_NORM, 5, 13}, {ROLE_THROUGHPUT, 5, 132}, {ROLE_STEP_TIME, 5, 132},
	{ROLE_LOSS, 6, 175}, {ROLE_EVAL_LOSS, 6, 12}, {ROLE_GRAD_NORM, 6, 13}, {ROLE_THROUGHPUT, 6, 132},
	{ROLE_STEP_TIME, 6, 132}, {ROLE_LOSS, 7, 175}, {ROLE_EVAL_LOSS, 7, 12}, {ROLE_GRAD_NORM, 7, 13},
	{ROLE_THROUGHPUT, 7, 136}, {ROLE_STEP_TIME, 7, 136}, {ROLE_ENTROPY, 7, 120}, {ROLE_REWARD, 7, 120},
	{ROLE_LOSS, 8, 177}, {ROLE_EVAL_LOSS, 8, 14}, {ROLE_GRAD_NORM, 8, 15}, {ROLE_THROUGHPUT, 8, 161},
	{ROLE_STEP_TIME, 8, 161}, {ROLE_ENTROPY, 8, 120}, {ROLE_REWARD, 8, 120}};

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
