/* How threads share the pieces of a search: each is done once, and who waits for the last of a batch works on the next one. */
#include "read/logs/search_pool.h"
#include "test.h"

#include <stdatomic.h>
#include <sched.h>

struct counts {
	atomic_int of[40];
	atomic_int *awaited; /* piece 0 goes on when this is not 0 */
	atomic_bool has_begun;
};

static void work(void *context, struct search_hand *hand, size_t index)
{
	struct counts *counts = context;

	(void)hand;
	atomic_store(&counts->has_begun, true);
	while (!index && counts->awaited && !atomic_load(counts->awaited))
		sched_yield();
	atomic_fetch_add(&counts->of[index], 1);
}

static void check_once(struct counts *counts, size_t count)
{
	for (size_t i = 0; i < 40; i++)
		CHECK_INT(atomic_load(&counts->of[i]), i < count);
}

TEST(each_piece_is_done_once_with_and_without_others)
{
	for (unsigned threads = 0; threads < 4; threads++) {
		AUTO(search_pool) pool = NULL;
		AUTO_DONE(search_hand) hand;
		CHECK(search_hand_init(&hand, 1000));
		CHECK_OK(search_pool_new(&pool, threads, 1000, &err));
		struct counts counts[2] = {0};
		struct search_task first = {.work = work, .context = &counts[0], .count = 40};
		struct search_task then = {.work = work, .context = &counts[1], .count = 17};
		struct search_task none = {.work = work, .count = 0};
		search_pool_begin(pool, &first);
		search_pool_begin(pool, &then);
		search_pool_begin(pool, &none);
		search_pool_finish(pool, &hand, &first, &then);
		check_once(&counts[0], 40);
		search_pool_finish(pool, &hand, &none, NULL);
		search_pool_finish(pool, &hand, &then, NULL);
		check_once(&counts[1], 17);
	}
}

/* The one piece of the first batch ends when one of the next is done: by nobody else than who waits for the first. */
TEST(who_waits_for_the_last_piece_works_on_what_comes_then)
{
	AUTO(search_pool) pool = NULL;
	AUTO_DONE(search_hand) hand;
	struct counts counts[2] = {0};
	struct search_task first = {.work = work, .context = &counts[0], .count = 1};
	struct search_task then = {.work = work, .context = &counts[1], .count = 2};

	CHECK(search_hand_init(&hand, 1000));
	CHECK_OK(search_pool_new(&pool, 1, 1000, &err));
	counts[0].awaited = &counts[1].of[1];
	search_pool_begin(pool, &first);
	while (!atomic_load(&counts[0].has_begun)) /* the other thread has it */
		sched_yield();
	search_pool_begin(pool, &then);
	search_pool_finish(pool, &hand, &first, &then);
	check_once(&counts[0], 1);
	search_pool_finish(pool, &hand, &then, NULL);
	check_once(&counts[1], 2);
}
