/* What lines say of steps that a killed tracker was not told: a step a second, printed from 0 to 29. */
#include "goodput_script.h"

enum { PRINTED = 30, TOLD = 18 };

/* Steps of attempt, by second. */
static size_t make(struct goodput_point *out, size_t count, uint32_t attempt, int64_t each)
{
	for (size_t i = 0; i < count; i++)
		out[i] = (struct goodput_point){(int64_t)i * 1000, (int64_t)i * each, attempt};
	return count;
}

static size_t untold(uint32_t told_attempt, int64_t told_each, struct goodput_point *printed, int64_t printed_each)
{
	struct goodput_point told[TOLD];
	size_t told_count = make(told, TOLD, told_attempt, told_each);

	make(printed, PRINTED, 1, printed_each);
	return goodput_find_untold(told, told_count, printed, PRINTED, told_each);
}

TEST(what_lies_behind_the_last_that_was_told_is_kept)
{
	struct goodput_point printed[PRINTED];

	CHECK_INT(untold(1, 1, printed, 1), PRINTED - TOLD);
	CHECK_INT(printed[0].step, TOLD);
	CHECK_INT(printed[PRINTED - TOLD - 1].step, PRINTED - 1);
	/* the tracker counts from 0, the lines from 1 */
	struct goodput_point told[TOLD];
	make(told, TOLD, 1, 1);
	make(printed, PRINTED, 1, 1);
	for (size_t i = 0; i < PRINTED; i++)
		printed[i].step++;
	CHECK_INT(goodput_find_untold(told, TOLD, printed, PRINTED, 1), PRINTED - TOLD);
	CHECK_INT(printed[0].step, TOLD + 1);
}

TEST(lines_that_count_otherwise_say_nothing)
{
	struct goodput_point printed[PRINTED];

	CHECK_INT(untold(1, 1, printed, 10), 0);
	CHECK_INT(untold(1, 10, printed, 1), 0); /* none is beyond 170 */
}

TEST(an_attempt_of_which_nothing_was_told_is_kept_if_it_lies_by_itself)
{
	struct goodput_point printed[PRINTED];

	CHECK_INT(untold(2, 1, printed, 1), 0); /* at the same time */
	make(printed, PRINTED, 1, 1);
	CHECK_INT(goodput_find_untold(NULL, 0, printed, PRINTED, 1), PRINTED);
	/* lines that all came behind what was told */
	struct goodput_point told = {-1000, 0, 1};
	CHECK_INT(goodput_find_untold(&told, 1, printed, PRINTED, 1), 0);
}

/* Told to 18 and killed; it goes on at 21, and nothing says who made 19 and 20, nor how many more. */
TEST(a_break_behind_which_steps_are_missing_lost_nobody_knows_how_many)
{
	static struct script s;

	for (int is_thinned = 0; is_thinned < 2; is_thinned++) {
		begin(&s, GOODPUT_STOPPED);
		s.facts.is_thinned = is_thinned; /* steps between two points are none that are missing */
		add_phase(&s, training(0, 300));
		add_phase(&s, phase_of("Interrupted", "", true, 300, 400));
		add_phase(&s, training(400, 700));
		add_steps(&s, 1, 1, 18, 10, 10);
		add_steps(&s, 1, 21, 40, 410, 10);
		run(&s);
		CHECK_INT(s.out.break_count, 1);
		CHECK_INT(s.out.breaks[0].lost_steps, is_thinned ? 0 : -1);
		arena_free(s.arena);
	}
}
