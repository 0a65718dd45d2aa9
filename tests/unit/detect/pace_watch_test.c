#include "detect/pace_watch.h"
#include "test.h"

enum { LANES = 5, SLOW = 3, SLOW_FROM = 1000, FAST_FROM = 2000, END = 3000, EVERY = 8 };

struct said {
	int opened, ended;
	size_t lane;
	int64_t opened_step, ended_step;
};

static void take(void *context, bool is_slow, size_t lane, const struct pace *pace, const struct straggler *found)
{
	struct said *said = context;

	CHECK(is_slow == found->is_slow);
	said->lane = lane;
	said->opened += is_slow;
	said->ended += !is_slow;
	*(is_slow ? &said->opened_step : &said->ended_step) = pace->step;
}

/* Rates a little apart, so that there is a spread; the slow one loses a fifth for a while. */
static struct pace pace_of(size_t lane, int64_t step)
{
	double rate = 100 + 0.2 * (double)lane + 0.3 * (double)(step * 7 % 5);

	if (lane == SLOW && step >= SLOW_FROM && step < FAST_FROM)
		rate *= 0.8;
	return (struct pace){.step = step, .ordinal = (uint64_t)step, .rate = rate, .attempt = 1};
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

	pace_watch_resume(watch, SLOW, SLOW_FROM + EVERY);
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
