/* Points that were sent as such: what is a restart, and what only looks like one. */
#include "extract/sent.h"
#include "test.h"

static const int64_t noon_ms = INT64_C(1790000000000);

struct sender {
	struct sent_steps sent;
	struct attempts attempts;
	int64_t now_ms;
	int opened;
	bool may_be_none;
};

static struct sender sender_new(void)
{
	struct sender s = {.now_ms = noon_ms};

	CHECK(attempts_init(&s.attempts));
	return s;
}

static void sender_done(struct sender *s)
{
	attempts_done(&s->attempts);
}
AUTO_DONE_TYPE(sender)

static void place(struct sender *s, int64_t step, int64_t ts_ms, bool is_timed)
{
	bool is_open;

	CHECK_OK(sent_place(&s->sent, &s->attempts,
		&(struct sent_step){step, ts_ms, is_timed ? ts_ms + 500 : ts_ms, s->may_be_none && !step}, &is_open,
		&err));
	s->opened += is_open;
}

/* A step a second. */
static void train(struct sender *s, int64_t from, int64_t to)
{
	for (int64_t step = from; step <= to; step++)
		place(s, step, s->now_ms += 1000, true);
}

static void check_attempts(const struct sender *s, size_t count, int64_t start)
{
	CHECK_INT(s->attempts.start_count, count);
	CHECK_INT(s->opened, count - 1);
	if (count > 1)
		CHECK_INT(s->attempts.starts[count - 1], start);
}

TEST(steps_that_lead_past_the_old_ones_are_a_restart)
{
	AUTO_DONE(sender) s = sender_new();

	train(&s, 0, 100);
	int64_t broke_ms = s.now_ms;
	train(&s, 90, 100);
	check_attempts(&s, 1, 0); /* it may be a sender that is behind */
	train(&s, 101, 101);
	check_attempts(&s, 2, 90);
	CHECK_INT(s.attempts.sent_ms[1], broke_ms + 1000);
	train(&s, 102, 200);
	check_attempts(&s, 2, 90);
}

/* A loop without a pause, or a clock of whole seconds: the restart's first steps bear the time of the last ones before it. */
TEST(a_restart_may_begin_in_the_millisecond_of_the_step_before_it)
{
	AUTO_DONE(sender) s = sender_new();

	train(&s, 0, 100);
	int64_t shared_ms = s.now_ms;
	place(&s, 90, shared_ms, true);
	place(&s, 91, shared_ms, true);
	train(&s, 92, 100);
	check_attempts(&s, 1, 0); /* it may be a sender that is behind */
	train(&s, 101, 110);
	check_attempts(&s, 2, 90);
	CHECK_INT(s.attempts.sent_ms[1], shared_ms);
	AUTO_DONE(sender) fast = sender_new();
	for (int64_t i = 0; i < 300;
		i++) /* two of them, the second one before the first has passed what it makes again */
		place(&fast, i < 100 ? i : i < 130 ? i - 40 : i - 60, noon_ms + i / 8, true);
	check_attempts(&fast, 3, 70);
	CHECK_INT(fast.attempts.starts[1], 60);
	CHECK_INT(fast.attempts.sent_ms[1], noon_ms + 12);
	CHECK_INT(fast.attempts.sent_ms[2], noon_ms + 16);
	AUTO_DONE(sender) told = sender_new();
	train(&told, 0, 9);
	told.sent.has_begun = true;
	place(&told, 5, told.now_ms, true);
	train(&told, 6, 6);
	check_attempts(&told, 2, 5);
}

TEST(what_is_sent_again_of_one_millisecond_is_no_restart)
{
	AUTO_DONE(sender) s = sender_new();

	train(&s, 0, 100);
	s.now_ms += 1000;
	for (int again = 0; again < 3; again++)
		for (int64_t step = 101; step <= 120; step++)
			place(&s, step, s.now_ms, true);
	CHECK(s.sent.back.is_there);
	train(&s, 121, 121);
	CHECK(!s.sent.back.is_there);
	train(&s, 122, 200);
	check_attempts(&s, 1, 0);
	CHECK_INT(s.sent.refuted, 0);
	train(&s, 150, 210); /* and what is one begins where it does */
	check_attempts(&s, 2, 150);
}

/* A body is told series by series: the loss comes when the series before it have opened the attempts. */
TEST(a_series_that_leads_from_now_on_opens_no_attempt_again)
{
	for (int gap_ms = 0; gap_ms <= 1000; gap_ms += 1000) {
		AUTO_DONE(sender) s = sender_new();
		for (int series = 0; series < 2; series++) {
			s.now_ms = noon_ms;
			s.sent.attempt = 0; /* as when another one leads */
			train(&s, 0, 100);
			s.now_ms += gap_ms - 1000;
			train(&s, 90, 200);
			s.now_ms += gap_ms - 1000;
			train(&s, 150, 250);
			check_attempts(&s, 3, 150);
		}
		train(&s, 220, 300); /* again */
		check_attempts(&s, 4, 220);
	}
}

TEST(a_step_of_an_attempt_that_is_over_says_nothing_of_this_one)
{
	AUTO_DONE(sender) s = sender_new();

	train(&s, 0, 100);
	train(&s, 50, 90);
	train(&s, 60, 62);
	check_attempts(&s, 2, 50);
	place(&s, 100, noon_ms + 101 * 1000, true); /* sent again */
	train(&s, 63, 130);
	check_attempts(&s, 3, 60);
}

TEST(so_are_steps_that_stay_back_for_long)
{
	AUTO_DONE(sender) s = sender_new();

	train(&s, 0, 1000);
	train(&s, 500, 529);
	check_attempts(&s, 1, 0);
	train(&s, 530, 530); /* half a minute */
	check_attempts(&s, 2, 500);
	AUTO_DONE(sender) fast = sender_new();
	for (int64_t step = 0; step <= 1000; step++)
		place(&fast, step, noon_ms + step, true);
	for (int64_t step = 500; step < 500 + FALLEN_POINTS - 1; step++)
		place(&fast, step, noon_ms + 1001 + step, true);
	check_attempts(&fast, 1, 0);
	place(&fast, 500 + FALLEN_POINTS - 1, noon_ms + 2001 + FALLEN_POINTS, true);
	check_attempts(&fast, 2, 500);
}

TEST(behind_a_pause_a_few_steps_are_enough_to_pass)
{
	AUTO_DONE(sender) s = sender_new();

	train(&s, 0, 100);
	s.now_ms += 60000;
	train(&s, 99, 101);
	check_attempts(&s, 2, 99);
	AUTO_DONE(sender) without = sender_new();
	train(&without, 0, 100);
	train(&without, 99, 101);
	check_attempts(&without, 1, 0);
}

TEST(each_restart_is_one)
{
	AUTO_DONE(sender) s = sender_new();

	train(&s, 0, 100);
	for (int i = 0; i < 3; i++) {
		s.now_ms += 60000;
		train(&s, 50, 60 - i); /* it breaks off before it has passed anything */
	}
	check_attempts(&s, 3, 50); /* of the last one it is not known yet */
	train(&s, 59, 101);
	check_attempts(&s, 4, 50);
}

TEST(a_sender_that_says_so_needs_one_step)
{
	AUTO_DONE(sender) s = sender_new();

	train(&s, 0, 9);
	s.sent.has_begun = true;
	train(&s, 5, 5);
	check_attempts(&s, 2, 5);
	train(&s, 6, 20);
	check_attempts(&s, 2, 5);
	s.sent.has_begun = true; /* it goes on where it was */
	train(&s, 21, 30);
	CHECK(!s.sent.has_begun);
	check_attempts(&s, 2, 5);
	s.sent.has_begun = true;
	place(&s, 7, noon_ms, true); /* of before: an offline part that is sent later */
	check_attempts(&s, 2, 5);
	train(&s, 0, 0); /* from the very beginning */
	check_attempts(&s, 3, 0);
}

TEST(a_0_that_may_be_none_waits_for_the_step_behind_it)
{
	AUTO_DONE(sender) s = sender_new();

	train(&s, 0, 9);
	s.may_be_none = s.sent.has_begun = true;
	train(&s, 0, 0);
	check_attempts(&s, 1, 0); /* a last word without a step */
	train(&s, 10, 12);
	check_attempts(&s, 1, 0);
	s.sent.has_begun = true;
	int64_t ended_ms = s.now_ms;
	train(&s, 0, 1);
	check_attempts(&s, 2, 0);
	CHECK_INT(s.attempts.sent_ms[1], ended_ms + 1000);
	train(&s, 2, 20);
	check_attempts(&s, 2, 0);
	s.sent.has_begun = true;
	train(&s, 7, 7);
	check_attempts(&s, 3, 7);
}

TEST(what_comes_out_of_order_is_none)
{
	AUTO_DONE(sender) s = sender_new();

	train(&s, 0, 100);
	for (int64_t step = 40; step < 90; step++)
		place(&s, step, noon_ms + 1000 + 1000 * step, true); /* the same again, or late */
	for (int64_t step = 20; step < 99; step++)
		place(&s, step, s.now_ms + 1, false); /* nobody knows when */
	train(&s, 101, 110);
	check_attempts(&s, 1, 0);
	CHECK_INT(s.sent.refuted, 0);
	place(&s, 105, s.now_ms += 1000, true); /* logged late: an evaluation */
	train(&s, 111, 200);
	check_attempts(&s, 1, 0);
}

TEST(a_counter_that_starts_over_is_none)
{
	AUTO_DONE(sender) s = sender_new();

	for (int epoch = 0; epoch < 20; epoch++) {
		train(&s, epoch % 2, 200);
		s.now_ms += 60000; /* an evaluation */
	}
	check_attempts(&s, 1, 0);
	AUTO_DONE(sender) fast = sender_new();
	for (int64_t i = 0; i < 1000; i++) /* without a pause, some steps a millisecond */
		place(&fast, i % 100, noon_ms + i / 8, true);
	check_attempts(&fast, 1, 0);
}

/* Two processes log the same metric by steps of their own, in batches; one is behind. */
TEST(senders_that_are_behind_are_none)
{
	AUTO_DONE(sender) s = sender_new();

	for (int64_t from = 100; from < 2000; from += 10) {
		for (int64_t step = from; step < from + 10; step++)
			place(&s, step, noon_ms + step * 1000, true);
		for (int64_t step = from - 20; step < from - 10; step++)
			place(&s, step, noon_ms + (step + 31) * 1000, true);
	}
	check_attempts(&s, 1, 0);
	CHECK_INT(s.sent.refuted, SENDERS_SURE);
	s.now_ms = noon_ms + INT64_C(3000000);
	train(&s, 2000, 2000 + 2 * CALM_POINTS); /* the other one has ended */
	CHECK_INT(s.sent.refuted, 0);
}

TEST(the_state_comes_back)
{
	AUTO_DONE(sender) s = sender_new();
	AUTO_DONE(buf) bytes = BUF_INIT(1 << 10);
	AUTO_DONE(buf) again = BUF_INIT(1 << 10);
	struct sent_steps got;

	train(&s, 0, 100);
	train(&s, 90, 95);
	CHECK(s.sent.fallen.is_there);
	place(&s, 91, s.now_ms, true);
	CHECK(s.sent.back.is_there);
	s.sent.is_joining = true;
	s.sent.lines_ms = noon_ms - 3600 * 1000; /* lines had opened one */
	sent_pack(&s.sent, &bytes);
	struct unpacker in = unpacker_on(buf_span(&bytes));
	sent_unpack(&got, NULL, &in);
	CHECK_OK(unpacker_end(&in, "state", &err));
	sent_pack(&got, &again);
	CHECK_SPAN(buf_span(&again), buf_span(&bytes));
	CHECK_INT(got.lines_ms, s.sent.lines_ms);
	CHECK(got.is_joining);
	CHECK_INT(got.back.step, 91);
	s.sent = got;
	train(&s, 96, 101);
	check_attempts(&s, 2, 90);
}
