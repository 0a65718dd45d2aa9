#include "base/alloc.h"
#include "test.h"

TEST(alloc_fails_the_nth_and_only_once)
{
	mem_fail_at(2);
	void *first = mem_alloc(1), *second = mem_alloc(1), *third = mem_alloc(1);

	CHECK(first && !second && third);
	mem_free(first);
	mem_free(third);
	mem_fail_at(1);
	mem_fail_at(0);
	AUTO_MEM char *text = mem_copy_string("abc");
	CHECK_TEXT(text, "abc");
}

static int wait_twice(void *context)
{
	return ++*(int *)context <= 2;
}

TEST(alloc_is_tried_again_for_as_long_as_somebody_waits)
{
	int waited = 0;

	mem_wait(wait_twice, &waited);
	mem_fail_at(1);
	AUTO_MEM char *first = mem_alloc(1);
	CHECK(first && waited == 1);
	mem_fail_at(1);
	void *grown = mem_resize(first, 2, 1);
	CHECK(grown && waited == 2);
	first = grown;
	mem_fail_at(1);
	CHECK(!mem_zeroed(1) && waited == 3);
	mem_wait(NULL, NULL);
	mem_fail_at(1);
	CHECK(!mem_alloc(1) && waited == 3);
}

TEST(alloc_zeroed_and_empty_blocks)
{
	AUTO_MEM char *zeroed = mem_zeroed(100);
	AUTO_MEM char *empty = mem_alloc(0);

	CHECK(zeroed && empty);
	for (int i = 0; i < 100; i++)
		CHECK_INT(zeroed[i], 0);
	mem_free(NULL);
}

TEST(alloc_resize_refuses_overflow_and_keeps_the_old)
{
	AUTO_MEM char *block = mem_copy_string("keep");

	CHECK(!mem_resize(block, SIZE_MAX / 2, 3));
	mem_fail_at(1);
	CHECK(!mem_resize(block, 100, 3));
	CHECK_TEXT(block, "keep");
	char *grown = mem_resize(block, 100, 3);
	CHECK(grown != NULL);
	block = grown;
	CHECK_TEXT(block, "keep");
	grown = mem_resize(block, 0, 8);
	CHECK(grown != NULL);
	block = grown;
}

TEST(alloc_grow_keeps_items)
{
	AUTO_MEM void *items = NULL;
	size_t cap = 0;

	for (size_t i = 0; i < 1000; i++) {
		CHECK(mem_grow(&items, i, &cap, sizeof(size_t)));
		CHECK(cap > i);
		((size_t *)items)[i] = i;
	}
	for (size_t i = 0; i < 1000; i++)
		CHECK_INT(((size_t *)items)[i], i);
	mem_fail_at(1);
	CHECK(!mem_grow(&items, cap, &cap, sizeof(size_t)));
	CHECK_INT(((size_t *)items)[999], 999);
}
