/* Of which attempt lines are that come late over a restart, or by a clock that was set. */
#include "auto_stream.h"

/* Steps first to last, ten seconds each, the first of them at_s seconds behind noon. */
static void feed_from(struct stream *s, int first, int last, int at_s)
{
	char text[64];

	for (int step = first; step <= last; step++) {
		snprintf(text, sizeof text, "step %d loss 1", step);
		feed_at(s, span_from(text), noon_ms + 1000 * (at_s + 10 * (step - first)));
	}
}

static void check_attempts(struct stream *s, size_t from, size_t to, int attempt)
{
	for (size_t i = from; i < to; i++)
		CHECK_INT(point_at(s, i)->attempt, attempt);
}

/* 1 to 20; 21 to 30 are sent again behind the restart from step 10, which took 100 seconds. */
TEST(a_batch_of_before_a_restart_that_comes_behind_it_is_of_the_attempt_before)
{
	for (int made = 3; made <= 12; made += 9) { /* while the restart is on trial, and when it is decided */
		AUTO_DONE(stream) s = stream_of(STEP_LOSS);
		feed_from(&s, 1, 20, 0);
		feed_from(&s, 11, 10 + made, 400);
		feed_from(&s, 21, 30, 200);
		feed_from(&s, 11 + made, 40, 400 + 10 * made);
		CHECK_INT(extractor_attempt(s.extractor), 2);
		CHECK_INT(s.revisions, 0);
		check_starts(&s, 2, (int64_t[]){1, 11});
		size_t late = 20 + (size_t)made;
		check_attempts(&s, 0, 20, 1);
		check_attempts(&s, 20, late, 2);
		check_attempts(&s, late, late + 10, 1);
		check_attempts(&s, late + 10, s.points.count, 2);
	}
}

/* Two files of one stream: every second ten steps come ten later, also those of before the restart. */
TEST(every_second_batch_is_late_over_a_restart)
{
	AUTO_DONE(stream) s = stream_of(STEP_LOSS);

	feed_from(&s, 11, 20, 100);
	feed_from(&s, 1, 10, 0);
	feed_from(&s, 31, 40, 300);
	feed_from(&s, 26, 35, 700); /* from step 25 on */
	feed_from(&s, 21, 30, 200);
	feed_from(&s, 46, 55, 900);
	feed_from(&s, 36, 45, 800);
	CHECK_INT(extractor_attempt(s.extractor), 2);
	check_starts(&s, 2, (int64_t[]){11, 26});
	check_attempts(&s, 0, 30, 1);
	check_attempts(&s, 30, 40, 2);
	check_attempts(&s, 40, 50, 1);
	check_attempts(&s, 50, 70, 2);
}

/* The restart goes on from step 10 of 40; its first ten lines come behind the next ten. */
TEST(a_restart_whose_second_batch_comes_first_begins_where_it_began)
{
	AUTO_DONE(stream) s = stream_of(STEP_LOSS);

	feed_from(&s, 1, 40, 0);
	feed_from(&s, 21, 30, 700);
	feed_from(&s, 11, 20, 600);
	feed_from(&s, 31, 60, 800);
	CHECK_INT(extractor_attempt(s.extractor), 2);
	check_starts(&s, 2, (int64_t[]){1, 11});
	check_attempts(&s, 0, 40, 1);
	check_attempts(&s, 40, s.points.count, 2);
}

/* Not of the attempt before: the next step of the newest one, by a clock that was set back by an hour. */
TEST(a_clock_that_is_set_back_behind_a_restart_changes_no_attempt)
{
	AUTO_DONE(stream) s = stream_of(STEP_LOSS);

	feed_from(&s, 1, 400, 0);
	feed_from(&s, 301, 320, 5000);
	feed_from(&s, 321, 390, 5200 - 3600);
	CHECK_INT(extractor_attempt(s.extractor), 2);
	check_attempts(&s, 400, s.points.count, 2);
}

/* What came late is known after a start of the server, too. */
TEST(a_late_batch_is_of_its_attempt_behind_pack_and_unpack)
{
	AUTO_DONE(stream) s = stream_of(STEP_LOSS);

	feed_from(&s, 1, 20, 0);
	feed_from(&s, 11, 18, 400);
	restart_stream(&s);
	feed_from(&s, 21, 25, 200);
	restart_stream(&s);
	feed_from(&s, 26, 30, 250);
	feed_from(&s, 19, 40, 480);
	CHECK_INT(extractor_attempt(s.extractor), 2);
	check_starts(&s, 2, (int64_t[]){1, 11});
	check_attempts(&s, 28, 38, 1);
	check_attempts(&s, 38, s.points.count, 2);
}

/* Whoever prints the steps bears the zone of the machine, eight hours ahead; what evaluates has no time of its own, but that of its arrival. */
static const char step_and_eval[] = "[{\"Name\":\"loss\",\"Regex\":\"^step (?<step>\\\\d+) loss (?<value>\\\\S+)\"},"
				    "{\"Name\":\"eval\",\"Regex\":\"^eval (?<step>\\\\d+) (?<value>\\\\S+)\"}]";

static void feed_evaluated(struct stream *s, int first, int last, int at_s, int every)
{
	char text[64];

	for (int step = first; step <= last; step++) {
		feed_from(s, step, step, at_s + 8 * 3600 + 10 * (step - first));
		snprintf(text, sizeof text, "eval %d 1", step);
		if (step % every == 0)
			feed_at(s, span_from(text), noon_ms + 1000 * (at_s + 10 * (step - first)));
	}
}

TEST(a_metric_of_another_clock_is_of_the_attempt_that_its_lines_are_printed_in)
{
	for (int every = 20; every <= 100; every += 80) {
		AUTO_DONE(stream) s = stream_of(step_and_eval);
		feed_evaluated(&s, 1, 150, 0, every);
		size_t before = s.points.count;
		feed_evaluated(&s, 121, 500, 2000, every);
		CHECK_INT(extractor_attempt(s.extractor), 2);
		check_attempts(&s, 0, before, 1);
		check_attempts(&s, before, s.points.count, 2);
	}
}

/* The restart's first lines were of a clock that was ahead by an hour, until somebody set it: before it has come past step 100, and behind that. */
TEST(a_clock_that_is_set_right_behind_a_restart_changes_no_attempt)
{
	for (int last = 60; last <= 120; last += 60) {
		AUTO_DONE(stream) s = stream_of(STEP_LOSS);
		feed_from(&s, 1, 100, 0);
		feed_from(&s, 51, last, 1200 + 3600);
		feed_from(&s, last + 1, 200, 1200 + 10 * (last - 50));
		CHECK_INT(extractor_attempt(s.extractor), 2);
		check_attempts(&s, 100, s.points.count, 2);
	}
}
