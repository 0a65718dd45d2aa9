/*
 * Job: what building and asking a log filter share: its sizes, what is a token or a trigram, and where its bits are.
 * Ownership, threads: pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	FILTER_FORMAT = 1,
	TRIGRAM_BITS = 16, /* log2 of the bitmap before it is folded: 8 KiB stay in the L1 cache */
	TRIGRAM_BITS_MIN = 6,
	TOKEN_BITS = 20, /* fingerprints, to tell distinct ones by a bitmap */
	TOKEN_HASHES = 4,
	FRACTION_HASHES = 2,
};

enum { IS_WORD = 1, IS_BARRED = 2 }; /* barred: no trigram holds it */

static inline unsigned char filter_fold(unsigned char c)
{
	return c >= 'A' && c <= 'Z' ? c | 0x20 : c;
}

static inline unsigned char filter_class_of(unsigned char c)
{
	if (c >= '0' && c <= '9')
		return IS_WORD | IS_BARRED;
	if (c == '\n')
		return IS_BARRED;
	return (filter_fold(c) >= 'a' && filter_fold(c) <= 'z') || c == '_' ? IS_WORD : 0;
}

static inline uint32_t trigram_hash(uint32_t trigram)
{
	return trigram * 0x9e3779b1u >> (32 - TRIGRAM_BITS);
}

enum { TOKEN_SEED = 0x1505 };
#define TOKEN_PRIME 0x01000193u
#define TOKEN_MIXER 0x85ebca6bu

static inline uint32_t token_step(uint32_t hash, unsigned char folded)
{
	return (hash ^ folded) * TOKEN_PRIME;
}

static inline uint32_t token_end(uint32_t hash)
{
	hash ^= hash >> 15;
	return hash * TOKEN_MIXER >> (32 - TOKEN_BITS);
}

/* Of the Bloom filters over fingerprints. */
static inline size_t bloom_bit(uint32_t fingerprint, unsigned i, size_t bits)
{
	uint64_t mixed = (fingerprint + 1) * 0x9e3779b97f4a7c15u;
	uint32_t low = (uint32_t)mixed | 1, high = (uint32_t)(mixed >> 32);

	return (size_t)((uint64_t)(uint32_t)(high + i * low) * bits >> 32);
}
