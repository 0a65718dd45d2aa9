#include "base/arena.h"

#include <stdalign.h>

/* The first block is what malloc gives and takes back without looking about (at most 1032 bytes, by glibc): most arenas need no other. */
enum { FIRST_BLOCK_BYTES = 960, LARGEST_BLOCK_BYTES = 240 << 10 };

struct block {
	struct block *next;
	size_t used;
	size_t cap;
	alignas(max_align_t) char bytes[];
};

struct arena {
	struct block *newest;
	size_t bytes;
	size_t next_block_bytes;
};

struct arena *arena_new(void)
{
	struct arena *arena = mem_zeroed(sizeof *arena);

	if (arena)
		arena->next_block_bytes = FIRST_BLOCK_BYTES;
	return arena;
}

void arena_free(struct arena *arena)
{
	if (!arena)
		return;
	for (struct block *block = arena->newest; block;) {
		struct block *next = block->next;
		mem_free(block);
		block = next;
	}
	mem_free(arena);
}

static struct block *add_block(struct arena *arena, size_t at_least)
{
	size_t cap = at_least > arena->next_block_bytes ? at_least : arena->next_block_bytes;
	struct block *block = cap > SIZE_MAX - sizeof *block ? NULL : mem_alloc(sizeof *block + cap);

	if (!block)
		return NULL;
	block->next = arena->newest;
	block->used = 0;
	block->cap = cap;
	arena->newest = block;
	arena->bytes += cap;
	if (arena->next_block_bytes < LARGEST_BLOCK_BYTES)
		arena->next_block_bytes *= 2;
	return block;
}

static void *take_bytes(struct arena *arena, size_t bytes, size_t alignment)
{
	struct block *block = arena->newest;
	size_t at = block ? (block->used + alignment - 1) / alignment * alignment : 0;

	if (!block || at > block->cap || block->cap - at < bytes) {
		block = add_block(arena, bytes);
		at = 0;
	}
	if (!block)
		return NULL;
	block->used = at + bytes;
	return block->bytes + at;
}

void *arena_alloc(struct arena *arena, size_t bytes)
{
	return take_bytes(arena, bytes, alignof(max_align_t));
}

struct span arena_copy(struct arena *arena, struct span s)
{
	char *copy = take_bytes(arena, s.len, 1);

	if (copy && s.len)
		memcpy(copy, s.ptr, s.len);
	return span_of(copy, copy ? s.len : 0);
}

size_t arena_bytes(const struct arena *arena)
{
	return arena->bytes;
}
