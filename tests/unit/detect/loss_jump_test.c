/* How soon a jump is told, point by point: the higher it is the less there is to wait for, wherever the training began. */
#include "detect/series.h"

enum { AT_ONCE = 2, DIVERGED = 10, NEVER = 1000 };
enum { IN_A_STEEP_FALL = 1 }; /* point more: neighbours are correlated there */

/* From 10 towards 2. */
static void feed_fall(struct series *s, int count)
{
	for (int i = 1; i < count; i++)
		feed(s, 8 * exp(-i / 80.0) + 2 + 0.03 * noise(s));
}

/* The number of the point, from 1, that first brought an incident of this kind and at least this severity. */
static int told_after(struct series *s, enum incident_kind kind, int64_t jump_step)
{
	for (size_t i = 0; i < s->count && i < REPORTS_MAX; i++)
		if (report_at(s, i)->incident.kind == kind && report_at(s, i)->incident.severity > SEVERITY_INFO)
			return (int)(s->reports[i].step - jump_step) + 1;
	return NEVER;
}

static void check_jump(bool says_step, int history, double value, int page_most, int divergence_most)
{
	AUTO_DONE(series) s = series_of(ROLE_LOSS);

	s.says_step = says_step;
	feed_fall(&s, history);
	int64_t jump_step = s.step;
	for (int i = 0; i < 60; i++)
		feed(&s, value + 0.3 * noise(&s));
	int page = told_after(&s, INCIDENT_LOSS_SPIKE, jump_step),
	    divergence = told_after(&s, INCIDENT_DIVERGENCE, jump_step);
	CHECK(page <= page_most);
	CHECK(divergence <= divergence_most);
}

TEST(a_jump_in_lines_that_say_their_step_is_told_at_its_second_point)
{
	static const double heights[] = {7, 9, 10, 12, 30};

	check_jump(true, 400, 4, AT_ONCE, NEVER);
	for (size_t i = 0; i < sizeof heights / sizeof heights[0]; i++)
		check_jump(true, 400, heights[i], AT_ONCE, DIVERGED);
	check_jump(true, 80, 9, AT_ONCE + IN_A_STEEP_FALL, DIVERGED + IN_A_STEEP_FALL);
	check_jump(true, 80, 30, AT_ONCE + IN_A_STEEP_FALL, DIVERGED + IN_A_STEEP_FALL);
}

TEST(a_jump_beyond_where_the_training_began_is_told_at_its_second_point)
{
	check_jump(false, 400, 4, AT_ONCE, NEVER);
	check_jump(false, 400, 30, AT_ONCE, DIVERGED);
	check_jump(false, 80, 30, AT_ONCE + IN_A_STEEP_FALL, DIVERGED + IN_A_STEEP_FALL);
}

/* Of points that were sent, or lines whose steps are counted, it may be the next training: 16 and 32 points tell. */
TEST(a_jump_to_where_the_training_began_is_told_when_it_does_not_fall)
{
	static const double heights[] = {7, 9, 10};

	for (size_t i = 0; i < sizeof heights / sizeof heights[0]; i++)
		check_jump(false, 400, heights[i], 33, 34);
}
