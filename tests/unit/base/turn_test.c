#include "base/turn.h"
#include "base/clock.h"
#include "test.h"

TEST(a_turn_that_is_free_is_taken_at_once)
{
	struct turn turn;
	struct timespec past = clock_deadline(-1000);

	turn_init(&turn);
	CHECK(turn_take(&turn, &past));
	turn_end(&turn);
	CHECK(turn_take(&turn, NULL));
	turn_end(&turn);
	turn_done(&turn);
}

TEST(a_turn_is_waited_for_until_a_time_and_no_longer)
{
	struct turn turn;
	int64_t begin_ms = clock_mono_ms();
	struct timespec soon = clock_deadline(20);

	turn_init(&turn);
	CHECK(turn_take(&turn, NULL));
	CHECK(!turn_take(&turn, &soon));
	CHECK(clock_mono_ms() - begin_ms >= 19);
	turn_end(&turn);
	CHECK(turn_take(&turn, &soon)); /* it is free, however late */
	turn_end(&turn);
	turn_done(&turn);
}

struct counting {
	struct turn turn;
	int count;
};

static void *count(void *context)
{
	struct counting *counting = context;

	for (int i = 0; i < 1000; i++) {
		(void)turn_take(&counting->turn, NULL);
		counting->count++;
		turn_end(&counting->turn);
	}
	return NULL;
}

TEST(a_turn_is_one_threads_at_a_time)
{
	struct counting counting = {.count = 0};
	pthread_t threads[4];

	turn_init(&counting.turn);
	for (int i = 0; i < 4; i++)
		CHECK_INT(pthread_create(&threads[i], NULL, count, &counting), 0);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	CHECK_INT(counting.count, 4000);
	turn_done(&counting.turn);
}
