#include "wandb/sent_times.h"
#include "test.h"

static void send(struct sent_times *times, int64_t session, int first, int last)
{
	times->session = session;
	for (int at = first; at <= last; at++)
		sent_times_note(times, at + 0.25);
}

/* Whether what this session, which began there, tells of that time has come before. */
static bool is_there(struct sent_times *times, int64_t session, int first, int at)
{
	send(times, session, first, at);
	return sent_times_has(times, at + 0.25);
}

TEST(what_comes_again_began_with_the_same_line_and_goes_as_far_as_it_did)
{
	struct sent_times times = {.count = 0};

	send(&times, 1, 100, 110);
	CHECK(!sent_times_has(&times, 105.25)); /* its own */
	CHECK(is_there(&times, 2, 100, 110));
	CHECK(!is_there(&times, 2, 100, 111)); /* the first sync was cut off */
	CHECK(!is_there(&times, 3, 105, 109)); /* another process, whose clock is behind */
	CHECK(!is_there(&times, 4, 90, 95));
	CHECK(sent_times_is_older(&times));
	CHECK(sent_times_own(&times)->first_s == 90.25 && sent_times_own(&times)->last_s == 95.25);
}

TEST(syncs_of_the_same_give_way_before_parts_that_stand_alone)
{
	struct sent_times times = {.count = 0};

	send(&times, 1, 100, 110);
	for (int64_t session = 2; session < 200; session++)
		send(&times, session, 200, 210);
	CHECK_INT(times.count, SENT_TIMES_MAX);
	CHECK(is_there(&times, 500, 100, 110));
	CHECK(is_there(&times, 501, 200, 205));
}
