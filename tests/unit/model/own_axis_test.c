#include "model/metrics/own_axis.h"

#include "base/codec/pack.h"
#include "test.h"

static void see(struct own_axis *axis, uint32_t attempt, int64_t step)
{
	struct point point = {.step = step, .attempt = attempt};

	own_axis_see(axis, &point, 1);
}

static bool is_superseded(const struct own_axis *axis, uint32_t attempt, int64_t step)
{
	const int64_t of_stream[] = {0, 200, 150};
	struct point point = {.step = step, .attempt = attempt};

	return point_is_superseded(&point, own_axis_or(axis, (struct attempt_starts){of_stream, 3}));
}

static void begin(struct own_axis *axis)
{
	const int64_t of_stream[] = {0, 200};

	CHECK(own_axis_begin(axis, (struct attempt_starts){of_stream, 2}, 2));
}

TEST(without_an_axis_of_its_own_a_series_goes_by_its_streams_starts)
{
	const struct own_axis none = {0};

	CHECK(is_superseded(&none, 1, 200));
	CHECK(is_superseded(&none, 2, 150));
	CHECK(!is_superseded(&none, 1, 149));
}

TEST(nothing_is_superseded_before_the_attempt_has_come_to_the_axis_and_then_from_its_least_step_on)
{
	struct own_axis axis = {0};

	begin(&axis);
	CHECK(!is_superseded(&axis, 1, 240 * 1024));
	see(&axis, 2, 210 * 1024);
	see(&axis, 2, 220 * 1024);
	see(&axis, 2, 200 * 1024); /* out of order */
	see(&axis, 1, 100 * 1024);
	CHECK(is_superseded(&axis, 1, 200 * 1024));
	CHECK(!is_superseded(&axis, 1, 200 * 1024 - 1));
	CHECK(!is_superseded(&axis, 2, 210 * 1024));
	own_axis_done(&axis);
}

TEST(what_goes_back_to_where_it_began_is_a_counter_until_the_next_attempt)
{
	struct own_axis axis = {0};

	begin(&axis);
	see(&axis, 2, 57);
	see(&axis, 2, 1);
	see(&axis, 2, 2);
	CHECK(!is_superseded(&axis, 1, 240));
	CHECK(own_axis_follow(&axis, 3, INT64_MAX));
	see(&axis, 3, 50);
	CHECK(is_superseded(&axis, 1, 50));
	CHECK(is_superseded(&axis, 2, 50));
	CHECK(!is_superseded(&axis, 2, 49));
	own_axis_done(&axis);
}

TEST(an_attempt_that_is_taken_back_leaves_its_points_to_the_one_before)
{
	struct own_axis axis = {0};

	begin(&axis);
	see(&axis, 2, 80);
	CHECK(own_axis_follow(&axis, 3, INT64_MAX));
	see(&axis, 3, 60);
	CHECK(own_axis_follow(&axis, 2, INT64_MAX));
	CHECK_INT(axis.count, 2);
	CHECK_INT(axis.starts[1], 60);
	own_axis_done(&axis);
}

TEST(it_is_the_same_behind_pack_and_unpack)
{
	AUTO(arena) arena = arena_new();
	AUTO_DONE(buf) packed = BUF_INIT(1000);
	struct own_axis axis = {0}, again = {0};

	begin(&axis);
	CHECK(own_axis_follow(&axis, 3, INT64_MAX));
	see(&axis, 2, 80);
	see(&axis, 3, 1);
	axis.awaited = 7;
	own_axis_pack(&axis, &packed);
	struct unpacker in = unpacker_on(buf_span(&packed));
	struct own_axis view = own_axis_unpack(&in, arena);
	CHECK(!in.has_failed && !in.is_out_of_memory);
	CHECK(own_axis_copy(&again, &view));
	CHECK_INT(again.since, 2);
	CHECK_INT(again.counter, 3);
	CHECK_INT(again.awaited, 7);
	CHECK_INT(again.count, 3);
	CHECK_INT(again.starts[1], 80);
	CHECK(again.starts[2] == INT64_MAX);
	own_axis_done(&again);
	own_axis_done(&axis);
}
