/* What ends an incident: the series is back, or it stayed so long that it counts as usual. Only the first is a recovery. */
#include "series.h"

static const double before = 2.36;

static struct series trained_series(void)
{
	struct series s = series_of(ROLE_LOSS);

	for (int i = 0; i < 1500; i++)
		feed(&s, 2 + 8 * exp(-i / 120.0) + exp(-i / 1500.0) + 0.03 * noise(&s));
	CHECK_INT(s.count, 0);
	return s;
}

static void feed_rise(struct series *series, double slope, double most, int count)
{
	for (int i = 0; i < count; i++)
		feed(series, before + fmin(most, slope * (i + 1)) + 0.03 * noise(series));
}

static const struct incident *newest_divergence(struct series *series)
{
	const struct incident *found = NULL;

	for (size_t i = 0; i < series->count; i++)
		if (report_at(series, i)->incident.kind == INCIDENT_DIVERGENCE)
			found = &report_at(series, i)->incident;
	CHECK(found);
	return found;
}

static void restore(struct series *series)
{
	AUTO_DONE(buf) state = BUF_INIT(1 << 20);

	detector_set_pack(series->set, &state);
	struct unpacker in = unpacker_on(buf_span(&state));
	detector_set_free(series->set);
	CHECK_OK(detector_set_unpack(&series->set, ROLE_LOSS, &in, &err));
}

TEST(a_divergence_is_open_until_the_loss_is_back)
{
	static const struct {
		double slope, most;
	} rises[] = {{8, 8}, {0.02, 8}, {0.02, 4}, {0.005, 8}};

	for (size_t i = 0; i < sizeof rises / sizeof *rises; i++) {
		AUTO_DONE(series) s = trained_series();
		feed_rise(&s, rises[i].slope, rises[i].most, 2500);
		restore(&s);
		feed_level(&s, before + rises[i].most, 0.01, 1000);
		CHECK_INT(newest_divergence(&s)->state, INCIDENT_OPEN);
		feed_level(&s, before + 0.5 * rises[i].most, 0.01, 100);
		CHECK_INT(newest_divergence(&s)->state, INCIDENT_OPEN);
		feed_level(&s, before, 0.01, 60);
		CHECK_INT(newest_divergence(&s)->state, INCIDENT_RECOVERED);
		CHECK_INT(newest_divergence(&s)->closed_why, INCIDENT_CLOSED_ITSELF);
		CHECK(newest_divergence(&s)->expected < 3);
	}
}

TEST(a_divergence_is_open_over_the_epochs_that_its_lines_count)
{
	AUTO_DONE(series) s = trained_series();

	for (int i = 0; i < 3000; i++) {
		s.in_epoch = (uint32_t)((i + 100) % 500) + 1;
		feed(&s, before + 8 + 0.03 * noise(&s));
	}
	CHECK_INT(newest_divergence(&s)->state, INCIDENT_OPEN);
}

TEST(what_stays_for_long_ends_as_the_new_level)
{
	AUTO_DONE(series) loss = trained_series();

	feed_rise(&loss, 8, 8, 4096 + 300);
	CHECK_INT(newest_divergence(&loss)->closed_why, INCIDENT_CLOSED_NEW_LEVEL);
	static const struct {
		enum role role;
		double usual, then;
		int points; /* 0: it comes back */
		enum incident_kind kind;
	} rows[] = {{ROLE_LOSS, 3, 3.3, 300, INCIDENT_LOSS_SPIKE}, {ROLE_LOSS, 3, 1.5, 600, INCIDENT_LOSS_DROP},
		{ROLE_GRAD_NORM, 1, 20, 300, INCIDENT_GRAD_SPIKE},
		{ROLE_ENTROPY, 1, 0.05, 600, INCIDENT_ENTROPY_COLLAPSE},
		{ROLE_THROUGHPUT, 100, 70, 2200, INCIDENT_THROUGHPUT_DROP}};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		for (int is_back = 0; is_back < 2; is_back++) {
			AUTO_DONE(series) s = series_of(rows[i].role);
			feed_level(&s, rows[i].usual, 0.01, 2500);
			feed_level(&s, rows[i].then, 0.01, is_back ? 100 : rows[i].points);
			feed_level(&s, rows[i].usual, 0.01, is_back ? 100 : 0);
			const struct incident *ended = &report_at(&s, s.count - 1)->incident;
			CHECK_INT(ended->kind, rows[i].kind);
			CHECK_INT(ended->state, INCIDENT_RECOVERED);
			CHECK_INT(ended->closed_why, is_back ? INCIDENT_CLOSED_ITSELF : INCIDENT_CLOSED_NEW_LEVEL);
		}
}
