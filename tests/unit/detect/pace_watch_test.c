#include "detect/pace_watch.h"
#include "test.h"

enum { LANES = 5, SLOW = 3, SLOW_FROM = 1000, FAST_FROM = 2000, END = 3000, EVERY = 8 };

struct said {
	int opened, ended;
	size_t lane;
	int64_t opened_step, ended_step, first_step;
};

static void take(void *context, const struct pace_finding *finding)
{
	struct said *said = context;

	CHECK(finding->is_slow == finding->found.is_slow);
	said->lane = finding->lane;
	said->opened += finding->is_slow;
	said->ended += !finding->is_slow;
	*(finding->is_slow ? &said->opened_step : &said->ended_step) = finding->pace.step;
	if (finding->is_slow)
		said->first_step = finding->first_step;
}

/* Rates a little apart, so that there is a spread; the slow one loses a fifth for a while. */
static struct pace pace_of(size_t lane, int64_t step)
{
	double rate = 100 + 0.2 * (double)lane + 0.3 * (double)(step * 7 % 5);

	if (lane == SLOW && step >= SLOW_FROM && step < FAST_FROM)
		rate *= 0.8;
	return (struct pace){.step = step, .ordinal = (uint64_t)step, .rate = rate, .newest = rate, .attempt = 1};
}

static void add(struct pace_watch *watch, size_t lane, int64_t step)
{
	struct pace pace = pace_of(lane, step);

	CHECK(pace_watch_add(watch, lane, &pace));
}

static void check_said(const struct said *said)
{
	CHECK_INT(said->opened, 1);
	CHECK_INT(said->ended, 1);
	CHECK_INT(said->lane, SLOW);
	CHECK_INT(said->opened_step, SLOW_FROM + EVERY); /* the second comparison */
	CHECK_INT(said->ended_step, FAST_FROM);
	/* the first that is slow is at SLOW_FROM, a median of four blocks of which two are */
	CHECK_INT(said->first_step, SLOW_FROM - 2 * EVERY + 1);
}

TEST(streams_in_step_are_compared_as_they_come)
{
	AUTO(pace_watch) watch = pace_watch_new();
	struct said said = {0};

	for (int64_t step = EVERY; step < END; step += EVERY)
		for (size_t lane = 0; lane < LANES; lane++) {
			add(watch, lane, step);
			pace_watch_look(watch, take, &said);
		}
	check_said(&said);
}

enum { TAKEN_OVER = 1496 /* at a figure */ };

struct handed_over {
	int opened, ended;
	int64_t first_step[4], last_step[4];
};

static void take_handed_over(void *context, const struct pace_finding *finding)
{
	struct handed_over *said = context;

	if (finding->is_slow)
		said->first_step[said->opened++ % 4] = finding->first_step;
	else
		said->last_step[said->ended++ % 4] = finding->last_step;
}

/* The slow stream is sent by machine 0, and behind TAKEN_OVER by machine 1 for `turn` figures, then by 2, …; those are slow until is_fast_from. */
static struct handed_over hand_over(int64_t turn, int64_t is_fast_from)
{
	AUTO(pace_watch) watch = pace_watch_new();
	struct handed_over said = {0};

	for (int64_t step = EVERY; step < END; step += EVERY)
		for (size_t lane = 0; lane < LANES; lane++) {
			struct pace pace = pace_of(lane, step);
			if (lane == SLOW && step > TAKEN_OVER)
				pace.sender = (uint32_t)(1 + (step - TAKEN_OVER - 1) / (turn * EVERY));
			if (lane == SLOW && step >= is_fast_from && step < FAST_FROM)
				pace.rate /= 0.8;
			CHECK(pace_watch_add(watch, lane, &pace));
			pace_watch_look(watch, take_handed_over, &said);
		}
	return said;
}

TEST(a_machine_that_takes_a_slow_stream_over_is_judged_by_itself)
{
	struct handed_over slow = hand_over(END, FAST_FROM);
	CHECK_INT(slow.opened, 2);
	CHECK_INT(slow.ended, 2);
	CHECK_INT(slow.first_step[0], SLOW_FROM - 2 * EVERY + 1);
	CHECK_INT(slow.last_step[0], TAKEN_OVER);
	CHECK_INT(slow.first_step[1], TAKEN_OVER + 1);
	CHECK_INT(slow.last_step[1], FAST_FROM - 2 * EVERY);
	/* its first two figures are as much of the one before */
	struct handed_over fast = hand_over(END, TAKEN_OVER + 3 * EVERY);
	CHECK(fast.opened == 1 && fast.ended == 1);
	CHECK_INT(fast.last_step[0], TAKEN_OVER);
	/* several that send in turns are one stream */
	struct handed_over shared = hand_over(2, FAST_FROM);
	CHECK(shared.opened == 1 && shared.ended == 1);
	CHECK_INT(shared.last_step[0], FAST_FROM - 2 * EVERY);
}

TEST(the_answer_is_the_same_when_streams_are_uploaded_one_by_one)
{
	/* the slow one first, and last, when the others were compared without it */
	size_t orders[][LANES] = {{SLOW, 0, 1, 2, 4}, {0, 1, 2, 4, SLOW}};

	for (size_t i = 0; i < 2; i++) {
		AUTO(pace_watch) watch = pace_watch_new();
		struct said said = {0};
		for (int64_t part = 0; part < END; part += 1000)
			for (size_t j = 0; j < LANES; j++) {
				for (int64_t step = part + EVERY; step <= part + 1000; step += EVERY)
					add(watch, orders[i][j], step);
				pace_watch_look(watch, take, &said);
			}
		check_said(&said);
	}
}

TEST(a_stream_that_fell_silent_is_not_waited_for)
{
	AUTO(pace_watch) watch = pace_watch_new();
	struct said said = {0};

	for (size_t lane = 0; lane < LANES; lane++)
		add(watch, lane, EVERY);
	for (int64_t step = 2 * EVERY; step < END; step += EVERY)
		for (size_t lane = 1; lane < LANES; lane++)
			add(watch, lane, step);
	pace_watch_look(watch, take, &said);
	check_said(&said);
}

TEST(three_streams_say_nothing_and_keep_little)
{
	AUTO(pace_watch) watch = pace_watch_new();
	struct said said = {0};

	for (int64_t step = EVERY; step < 100 * END; step += EVERY) {
		for (size_t lane = 1; lane <= SLOW; lane++)
			add(watch, lane, step);
		pace_watch_look(watch, take, &said);
	}
	CHECK_INT(said.opened, 0);
	CHECK_INT(pace_watch_count(watch), 3);
}

TEST(a_restart_begins_afresh_and_what_was_open_ends_by_what_comes_then)
{
	AUTO(pace_watch) watch = pace_watch_new();
	struct said said = {0};

	CHECK(pace_watch_resume(watch, SLOW, SLOW_FROM + EVERY));
	for (int64_t step = 2 * EVERY; step < FAST_FROM;
		step += EVERY) /* what a replay repeats of before ends nothing */
		for (size_t lane = 0; lane < LANES; lane++)
			add(watch, lane, step);
	pace_watch_look(watch, take, &said);
	CHECK_INT(said.opened + said.ended, 0);
	for (int64_t step = EVERY; step < 3 * EVERY; step += EVERY)
		for (size_t lane = 0; lane < LANES; lane++) {
			struct pace pace = pace_of(lane, step);
			pace.attempt = 2;
			CHECK(pace_watch_add(watch, lane, &pace));
			pace = pace_of(lane, FAST_FROM); /* a straggler's line of the attempt before */
			CHECK(pace_watch_add(watch, lane, &pace));
		}
	pace_watch_look(watch, take, &said);
	CHECK_INT(said.ended, 1);
	CHECK_INT(said.ended_step, EVERY);
}

/* ---- several, and restarts ---- */

enum { MANY = 16, FIRST_SLOW = 9, THEN_SLOW = 5 };

struct each {
	struct said lanes[MANY];
};

static void take_each(void *context, const struct pace_finding *finding)
{
	struct each *each = context;

	take(&each->lanes[finding->lane], finding);
}

static struct pace even_pace(size_t lane, int64_t step, uint32_t attempt)
{
	double rate = 100 + 0.02 * (double)lane + 0.3 * (double)(step * 7 % 5);

	return (struct pace){.step = step,
		.ts_ms = attempt * 1000000 + step,
		.ordinal = (uint64_t)step,
		.rate = rate,
		.newest = rate,
		.attempt = attempt};
}

TEST(whoever_is_slow_is_named_though_another_one_is_already)
{
	AUTO(pace_watch) watch = pace_watch_new();
	struct each each = {0};

	for (int64_t step = EVERY; step < 400; step += EVERY)
		for (size_t lane = 0; lane < MANY; lane++) {
			struct pace pace = even_pace(lane, step, 1);
			pace.rate *= lane == FIRST_SLOW && step > 40   ? 0.87
				     : lane == THEN_SLOW && step > 140 ? 0.77
								       : 1;
			CHECK(pace_watch_add(watch, lane, &pace));
			pace_watch_look(watch, take_each, &each);
		}
	for (size_t lane = 0; lane < MANY; lane++) {
		CHECK_INT(each.lanes[lane].opened, lane == FIRST_SLOW || lane == THEN_SLOW);
		CHECK_INT(each.lanes[lane].ended, 0);
	}
	CHECK_INT(each.lanes[FIRST_SLOW].opened_step, 48 + EVERY);
	CHECK_INT(each.lanes[THEN_SLOW].opened_step, 144 + EVERY);
}

/* An attempt of 37 figures with a slow stretch of one stream, and the next from before its end. */
static void add_attempts(struct pace_watch *watch, size_t lane, uint32_t from, uint32_t to)
{
	for (uint32_t attempt = from; attempt <= to; attempt++)
		for (int64_t step = attempt == 1 ? EVERY : 256; step < (attempt == 1 ? 296 : 400); step += EVERY) {
			struct pace pace = even_pace(lane, step, attempt);
			pace.rate *= attempt == 1 && lane == SLOW && step > 60 && step <= 160 ? 0.8 : 1;
			pace.newest = pace.rate;
			CHECK(pace_watch_add(watch, lane, &pace));
		}
}

static void check_attempts(const struct said *said)
{
	CHECK_INT(said->opened, 1);
	CHECK_INT(said->ended, 1);
	CHECK_INT(said->lane, SLOW);
	CHECK_INT(said->opened_step, 64 + EVERY);
	CHECK_INT(said->ended_step, 168);
}

TEST(how_fast_a_log_with_a_restart_comes_changes_nothing)
{
	for (int looks = 0; looks < 4; looks++) { /* after all, after each attempt, after each stream */
		AUTO(pace_watch) watch = pace_watch_new();
		struct said said = {0};
		if (looks < 2)
			for (uint32_t attempt = 1; attempt <= 2; attempt++) {
				for (size_t lane = 0; lane < LANES; lane++)
					add_attempts(watch, lane, attempt, attempt);
				if (looks)
					pace_watch_look(watch, take, &said);
			}
		else
			for (size_t lane = 0; lane < LANES; lane++) {
				add_attempts(watch, lane, 1, 2);
				if (looks == 3)
					pace_watch_look(watch, take, &said);
			}
		pace_watch_look(watch, take, &said);
		check_attempts(&said);
	}
}

TEST(a_restart_waits_for_nobody_who_is_gone)
{
	AUTO(pace_watch) watch = pace_watch_new();
	struct said said = {0};

	for (size_t lane = 0; lane < LANES; lane++) {
		struct pace pace = even_pace(lane, EVERY, 1);
		CHECK(pace_watch_add(watch, lane, &pace));
	}
	pace_watch_look(watch, take, &said);
	for (size_t lane = 1; lane < LANES; lane++)
		add_attempts(watch, lane, 1, 1);
	pace_watch_look(watch, take, &said);
	CHECK_INT(said.opened, 0); /* the first one may still come */
	for (size_t lane = 1; lane < LANES; lane++)
		add_attempts(watch, lane, 2, 2);
	pace_watch_look(watch, take, &said);
	check_attempts(&said);
}

/* A stream that is slow up to step 160 of its attempt, of which figures, over four blocks each, still say so when it ends. */
static void add_broken_off(struct pace_watch *watch, uint32_t attempt, int64_t from, int64_t to, bool is_slow)
{
	for (int64_t step = from; step <= to; step += EVERY)
		for (size_t lane = 0; lane < LANES; lane++) {
			struct pace pace = even_pace(lane, step, attempt);
			bool is_slow_lane = is_slow && lane == SLOW;
			pace.rate *= is_slow_lane && step > 60 && step <= 160 + 2 * EVERY ? 0.8 : 1;
			pace.newest *= is_slow_lane && step > 60 && step <= 160 ? 0.8 : 1;
			CHECK(pace_watch_add(watch, lane, &pace));
		}
}

struct broken_off {
	struct said said;
	int64_t last_step;
};

static void take_broken_off(void *context, const struct pace_finding *finding)
{
	struct broken_off *off = context;

	take(&off->said, finding);
	off->last_step = finding->last_step;
}

TEST(what_a_restart_cut_off_was_slow_up_to_its_last_slow_block)
{
	AUTO(pace_watch) watch = pace_watch_new();
	struct broken_off off = {0};

	add_broken_off(watch, 1, EVERY, 160 + 2 * EVERY, true);
	add_broken_off(watch, 2, 152, 200, false);
	pace_watch_look(watch, take_broken_off, &off);
	CHECK_INT(off.said.opened, 1);
	CHECK_INT(off.said.ended, 1);
	CHECK_INT(off.said.ended_step, 152);
	CHECK_INT(off.last_step, 160);
}

TEST(what_ended_with_its_job_opens_anew_in_the_next_attempt_alone)
{
	AUTO(pace_watch) watch = pace_watch_new();
	struct broken_off off = {0};
	int64_t step = 0;

	CHECK(!pace_watch_slow_to(watch, SLOW, &step));
	add_broken_off(watch, 1, EVERY, 120, true);
	pace_watch_look(watch, take_broken_off, &off);
	CHECK(pace_watch_slow_to(watch, SLOW, &step));
	CHECK_INT(step, 120);
	CHECK(!pace_watch_slow_to(watch, 0, &step));
	pace_watch_end(watch, SLOW);
	add_broken_off(watch, 1, 128, 144, true);
	pace_watch_look(watch, take_broken_off, &off);
	CHECK_INT(off.said.opened, 1);
	add_broken_off(watch, 2, 104, 144, true);
	pace_watch_look(watch, take_broken_off, &off);
	CHECK_INT(off.said.opened, 2);
	CHECK_INT(off.said.ended, 0);
	CHECK_INT(off.said.opened_step, 112);
}
