/*
 * Job: sets of jobs by their numbers, a bit each. All sets of one query have the same length.
 * Ownership: words are the arena's that made them. Threads: values.
 */
#pragma once

#include "base/arena.h"

#include <stdint.h>

struct bits {
	uint64_t *words;
	size_t count; /* of words */
};

/* Empty. words is NULL when memory is out. */
static inline struct bits bits_new(struct arena *arena, size_t words)
{
	struct bits bits = {.words = arena_alloc(arena, (words + 1) * sizeof(uint64_t)), .count = words};

	if (bits.words)
		memset(bits.words, 0, (words + 1) * sizeof(uint64_t));
	return bits;
}

static inline bool bits_has(const struct bits *bits, size_t at)
{
	return at / 64 < bits->count && bits->words[at / 64] >> at % 64 & 1;
}

/* `at` is within. */
static inline void bits_add(struct bits *bits, size_t at)
{
	bits->words[at / 64] |= UINT64_C(1) << at % 64;
}

static inline size_t bits_size(const struct bits *bits)
{
	size_t size = 0;

	for (size_t i = 0; i < bits->count; i++)
		size += (size_t)__builtin_popcountll(bits->words[i]);
	return size;
}

/* for each `at` of one word: for (uint64_t left = word; left; left &= left - 1) at = 64 * i + bits_first(left) */
static inline size_t bits_first(uint64_t word)
{
	return (size_t)__builtin_ctzll(word);
}
