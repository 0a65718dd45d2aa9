/* Attempts of a log beside points that a tracker sends: which of the two says that a run was started again. */
#include "auto_stream.h"

/* The tracker's loss. */
static void tell_at(struct stream *s, int64_t step, int64_t ts_ms)
{
	bool is_open;

	CHECK(extractor_is_led_by(s->extractor, SPAN("train_loss"), true));
	CHECK_OK(extractor_place_sent(
		s->extractor, &(struct sent_step){step, ts_ms, s->now_ms + 500, false}, &is_open, &err));
	CHECK(!is_open);
	apply_revision(s);
}

static void tell(struct stream *s, int64_t step)
{
	tell_at(s, step, s->now_ms);
}

/* Told and printed up to step 50, then printed again from 23 to 30, which alone is an attempt. */
static struct stream stream_beside_points(const char *between)
{
	struct stream s = stream_of(STEP_LOSS);

	for (int step = 0; step <= 40; step += 10) {
		tell(&s, step);
		feed_steps(&s, step + 1, step + 10, 1);
	}
	if (between)
		feed(&s, between);
	feed_steps(&s, 23, 30, 1);
	CHECK_INT(extractor_attempt(s.extractor), 2);
	return s;
}

TEST(points_that_go_on_take_back_what_a_counter_opened)
{
	AUTO_DONE(stream) s = stream_beside_points(NULL);

	CHECK(extractor_is_undecided(s.extractor)); /* until the tracker has said where it is */
	tell_at(&s, 49, s.now_ms - 9000); /* before the counter fell back: it was on its way */
	CHECK_INT(extractor_attempt(s.extractor), 2);
	CHECK(extractor_is_undecided(s.extractor));
	tell(&s, 50);
	CHECK_INT(extractor_attempt(s.extractor), 1);
	CHECK_INT(s.revisions, 1);
	CHECK(!extractor_is_undecided(s.extractor));
	for (size_t i = 0; i < s.points.count; i++)
		CHECK_INT(point_at(&s, i)->attempt, 1);
}

TEST(points_that_fall_back_too_are_of_the_restart)
{
	AUTO_DONE(stream) s = stream_beside_points(NULL);

	for (int step = 30; step <= 70; step += 10) {
		tell(&s, step);
		feed_steps(&s, step + 1, step + 10, 1);
	}
	CHECK_INT(extractor_attempt(s.extractor), 2);
	CHECK_INT(s.revisions, 0);
	CHECK(!extractor_is_undecided(s.extractor));
}

TEST(a_restart_that_the_log_tells_of_stays_one_beside_points_that_go_on)
{
	AUTO_DONE(stream) s = stream_beside_points("Resuming from checkpoint out/20");

	tell(&s, 50);
	CHECK_INT(extractor_attempt(s.extractor), 2);
	CHECK_INT(s.revisions, 0);
}

TEST(nobody_waits_for_points_that_have_ended)
{
	AUTO_DONE(stream) s = stream_of(STEP_LOSS);

	tell(&s, 10);
	s.now_ms += 11 * 60 * 1000;
	feed_steps(&s, 1, 50, 1);
	feed_steps(&s, 23, 30, 1);
	CHECK_INT(extractor_attempt(s.extractor), 2);
	CHECK(!extractor_is_undecided(s.extractor));
}
