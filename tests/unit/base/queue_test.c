#include "base/clock.h"
#include "base/queue.h"
#include "test.h"

#include <pthread.h>

TEST(queue_keeps_the_order)
{
	AUTO(queue) queue = queue_new(10, 1000);
	struct queue_item items[3] = {{.bytes = 1}, {.bytes = 2}, {.bytes = 3}};
	size_t count, bytes;

	CHECK(queue != NULL);
	for (int i = 0; i < 3; i++)
		CHECK_OK(queue_push(queue, &items[i], &err));
	queue_size(queue, &count, &bytes);
	CHECK_INT(count, 3);
	CHECK_INT(bytes, 6);
	for (int i = 0; i < 3; i++)
		CHECK(queue_pop(queue, 0) == &items[i]);
	CHECK(!queue_pop(queue, 0));
	queue_size(queue, &count, &bytes);
	CHECK(count == 0 && bytes == 0);
	CHECK_OK(queue_push(queue, &items[0], &err));
	CHECK(queue_pop(queue, -1) == &items[0]);
}

TEST(queue_limit_of_items)
{
	AUTO(queue) queue = queue_new(2, 1000);
	struct queue_item items[3] = {{.bytes = 1}, {.bytes = 1}, {.bytes = 1}};
	struct error refusal;

	CHECK_OK(queue_push(queue, &items[0], &err));
	CHECK_OK(queue_push(queue, &items[1], &err));
	CHECK_INT(queue_push(queue, &items[2], &refusal), ERR_BUSY);
	CHECK_TEXT(refusal.text, "the queue is full (2 items, 2 bytes wait)");
	CHECK_INT(refusal.retry_after_s, 1);
	CHECK_INT(queue_push(queue, &items[2], NULL), ERR_BUSY);
	queue_pop(queue, 0);
	CHECK_OK(queue_push(queue, &items[2], &err));
}

TEST(queue_again_waits_its_turn_and_is_never_too_much)
{
	AUTO(queue) queue = queue_new(1, 10);
	struct queue_item items[3] = {{.bytes = 10}, {.bytes = 7}, {.bytes = 1}};
	size_t count, bytes;

	CHECK_OK(queue_push(queue, &items[0], &err));
	CHECK_OK(queue_push_again(queue, &items[1], &err));
	queue_size(queue, &count, &bytes);
	CHECK(count == 1 && bytes == 10);
	CHECK(queue_pop(queue, 0) == &items[0]);
	CHECK_OK(queue_push(queue, &items[2], &err));
	CHECK(queue_pop(queue, 0) == &items[1] && queue_pop(queue, 0) == &items[2]);
	queue_size(queue, &count, &bytes);
	CHECK(count == 0 && bytes == 0);
	queue_close(queue);
	CHECK_FAILS(queue_push_again(queue, &items[0], &err), ERR_UNAVAILABLE, "stopping");
}

TEST(queue_limit_of_bytes)
{
	AUTO(queue) queue = queue_new(100, 10);
	struct queue_item items[3] = {{.bytes = 4}, {.bytes = 6}, {.bytes = 1}}, huge = {.bytes = 5000};

	CHECK_OK(queue_push(queue, &items[0], &err));
	CHECK_OK(queue_push(queue, &items[1], &err));
	CHECK_FAILS(queue_push(queue, &items[2], &err), ERR_BUSY, "10 bytes");
	CHECK(queue_pop(queue, 0) == &items[0] && queue_pop(queue, 0) == &items[1]);
	CHECK_OK(queue_push(queue, &huge, &err)); /* alone, anything fits */
	CHECK_FAILS(queue_push(queue, &items[2], &err), ERR_BUSY, "5000 bytes");
}

TEST(queue_control_goes_first_and_is_not_counted)
{
	AUTO(queue) queue = queue_new(1, 10);
	struct queue_item item = {.bytes = 10}, first = {.bytes = 100}, second = {.bytes = 100};
	size_t count, bytes;

	CHECK_OK(queue_push(queue, &item, &err));
	CHECK_OK(queue_push_control(queue, &first, &err));
	CHECK_OK(queue_push_control(queue, &second, &err));
	queue_size(queue, &count, &bytes);
	CHECK(count == 1 && bytes == 10);
	CHECK(queue_pop(queue, 0) == &first && queue_pop(queue, 0) == &second && queue_pop(queue, 0) == &item);
}

TEST(queue_closed_gives_out_what_is_inside)
{
	AUTO(queue) queue = queue_new(10, 10);
	struct queue_item items[2] = {0};

	CHECK_OK(queue_push(queue, &items[0], &err));
	CHECK(!queue_is_closed(queue));
	queue_close(queue);
	CHECK(queue_is_closed(queue));
	CHECK_FAILS(queue_push(queue, &items[1], &err), ERR_UNAVAILABLE, "stopping");
	CHECK_FAILS(queue_push_control(queue, &items[1], &err), ERR_UNAVAILABLE, "stopping");
	CHECK(queue_pop(queue, -1) == &items[0]);
	CHECK(!queue_pop(queue, -1));
}

TEST(queue_pop_times_out)
{
	AUTO(queue) queue = queue_new(10, 10);
	int64_t start = clock_mono_ms();

	CHECK(!queue_pop(queue, 30));
	CHECK(clock_mono_ms() - start >= 29);
}

enum { PRODUCERS = 4, EACH = 2000 };

struct load {
	struct queue *queue;
	struct queue_item items[EACH];
};

static void *produce(void *argument)
{
	struct load *load = argument;

	for (int i = 0; i < EACH; i++)
		while (queue_push(load->queue, &load->items[i], NULL) == ERR_BUSY)
			sched_yield();
	return NULL;
}

TEST(queue_many_producers)
{
	static struct load loads[PRODUCERS];
	AUTO(queue) queue = queue_new(50, 1 << 20);
	pthread_t threads[PRODUCERS];
	int got[PRODUCERS] = {0};

	for (int i = 0; i < PRODUCERS; i++) {
		loads[i].queue = queue;
		CHECK_INT(pthread_create(&threads[i], NULL, produce, &loads[i]), 0);
	}
	for (int left = PRODUCERS * EACH; left > 0; left--) {
		struct queue_item *item = queue_pop(queue, -1);
		int i = 0;
		while (item < loads[i].items || item >= loads[i].items + EACH)
			i++;
		CHECK(item == &loads[i].items[got[i]++]); /* in the order of each producer */
	}
	for (int i = 0; i < PRODUCERS; i++)
		pthread_join(threads[i], NULL);
}

static void *wait_for_end(void *argument)
{
	return queue_pop(argument, -1);
}

TEST(queue_close_wakes_all)
{
	AUTO(queue) queue = queue_new(1, 1);
	pthread_t threads[3];

	for (int i = 0; i < 3; i++)
		CHECK_INT(pthread_create(&threads[i], NULL, wait_for_end, queue), 0);
	queue_close(queue);
	for (int i = 0; i < 3; i++) {
		void *item = queue;
		pthread_join(threads[i], &item);
		CHECK(item == NULL);
	}
}

TEST(queue_out_of_memory)
{
	mem_fail_at(1);
	CHECK(!queue_new(1, 1));
	queue_free(NULL);
}

static void *push_three(void *context)
{
	static struct queue_item items[3];
	struct error err;

	for (int i = 0; i < 3; i++)
		if (queue_push(context, &items[i], &err) != OK)
			return context;
	return NULL;
}

enum { LONG_NS = 2000000000 };

TEST(queue_gathers_until_so_many_wait)
{
	AUTO(queue) queue = queue_new(10, 1000);
	pthread_t thread;
	void *failed;

	CHECK_INT(queue_gather(queue, 0, LONG_NS), 0);
	CHECK_INT(queue_gather(queue, 1, 1000), 0);
	CHECK_INT(pthread_create(&thread, NULL, push_three, queue), 0);
	CHECK_INT(queue_gather(queue, 3, LONG_NS), 3);
	CHECK_INT(pthread_join(thread, &failed), 0);
	CHECK(!failed);
	CHECK_INT(queue_gather(queue, 4, 1000), 3);
	for (int i = 0; i < 3; i++)
		CHECK(queue_pop(queue, 0) != NULL);
}

TEST(queue_gathers_no_longer_when_control_work_waits_or_it_is_closed)
{
	AUTO(queue) queue = queue_new(10, 1000);
	struct queue_item item = {.bytes = 1};
	int64_t start_ns = clock_mono_ns();

	CHECK_OK(queue_push_control(queue, &item, &err));
	CHECK_INT(queue_gather(queue, 5, LONG_NS), 0);
	CHECK(queue_pop(queue, 0) == &item);
	queue_close(queue);
	CHECK_INT(queue_gather(queue, 5, LONG_NS), 0);
	CHECK(clock_mono_ns() - start_ns < LONG_NS);
}

TEST(queue_gathers_no_more_than_it_takes)
{
	AUTO(queue) few = queue_new(2, 1000);
	AUTO(queue) small = queue_new(10, 100);
	struct queue_item items[] = {{.bytes = 1}, {.bytes = 1}, {.bytes = 60}, {.bytes = 40}};
	int64_t start_ns = clock_mono_ns();

	for (int i = 0; i < 4; i++)
		CHECK_OK(queue_push(i < 2 ? few : small, &items[i], &err));
	CHECK_INT(queue_gather(few, 5, LONG_NS), 2);
	CHECK_INT(queue_gather(small, 5, LONG_NS), 2);
	CHECK(clock_mono_ns() - start_ns < LONG_NS);
}
