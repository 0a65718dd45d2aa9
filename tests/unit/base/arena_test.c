#include "base/arena.h"
#include "test.h"

TEST(arena_blocks_are_aligned_and_apart)
{
	AUTO(arena) arena = arena_new();
	char *blocks[200];

	CHECK(arena != NULL);
	for (size_t i = 0; i < 200; i++) {
		CHECK((blocks[i] = arena_alloc(arena, i * 7)) != NULL);
		CHECK_INT((uintptr_t)blocks[i] % _Alignof(max_align_t), 0);
		memset(blocks[i], (int)i, i * 7);
		arena_copy(arena, SPAN("x")); /* makes the next place odd */
	}
	for (size_t i = 0; i < 200; i++)
		for (size_t k = 0; k < i * 7; k++)
			CHECK_INT((unsigned char)blocks[i][k], i);
}

TEST(arena_copies)
{
	AUTO(arena) arena = arena_new();
	char text[] = "text";
	struct span copy = arena_copy(arena, span_from(text));

	text[0] = 'n';
	CHECK_SPAN(copy, SPAN("text"));
	CHECK(arena_copy(arena, (struct span){NULL, 0}).ptr != NULL);
}

TEST(arena_counts_its_bytes)
{
	AUTO(arena) arena = arena_new();

	CHECK_INT(arena_bytes(arena), 0);
	CHECK(arena_alloc(arena, 10 << 20) != NULL);
	CHECK(arena_bytes(arena) >= 10 << 20);
	for (int i = 0; i < 100000; i++)
		CHECK(arena_alloc(arena, 16) != NULL);
	CHECK(arena_bytes(arena) < 13 << 20);
}

TEST(arena_refuses_absurd_sizes)
{
	AUTO(arena) arena = arena_new();

	CHECK(!arena_alloc(arena, SIZE_MAX));
	CHECK(!arena_alloc(arena, SIZE_MAX - 8));
	CHECK(arena_alloc(arena, 8) != NULL);
	arena_free(NULL);
}

TEST(arena_out_of_memory)
{
	mem_fail_at(1);
	CHECK(!arena_new());
	AUTO(arena) arena = arena_new();
	mem_fail_at(1);
	CHECK(!arena_copy(arena, SPAN("abc")).ptr);
	CHECK_INT(arena_bytes(arena), 0);
	CHECK_SPAN(arena_copy(arena, SPAN("abc")), SPAN("abc"));
	mem_fail_at(1);
	CHECK(!arena_alloc(arena, 100000));
	CHECK(arena_alloc(arena, 8) != NULL);
}
