#include "base/hash128.h"

enum { BLOCK_BYTES = 16 };
static const uint64_t keys[] = {0xa0761d6478bd642f, 0xe7037ed1a0b428db, 0x8ebc6af09c88c6e3, 0x589965cc75374cc3};

static uint64_t fold(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static void mix(struct hash128 *hash, uint64_t first, uint64_t second)
{
	uint64_t low = fold(first ^ keys[0] ^ hash->low, second ^ keys[1]);
	uint64_t high = fold(second ^ keys[2] ^ hash->high, first ^ keys[3]);

	hash->low = low + hash->high; /* one lane that meets a factor of zero does not lose the other */
	hash->high = high + hash->low;
}

static void mix_block(struct hash128 *hash, const char *block)
{
	uint64_t words[2];

	memcpy(words, block, sizeof words);
	mix(hash, words[0], words[1]);
}

void hash128_add(struct hash128 *hash, struct span bytes)
{
	const char *at = bytes.ptr;
	size_t left = bytes.len;

	hash128_add_number(hash, bytes.len);
	for (; left >= BLOCK_BYTES; at += BLOCK_BYTES, left -= BLOCK_BYTES)
		mix_block(hash, at);
	if (left) {
		char last[BLOCK_BYTES] = {0};
		memcpy(last, at, left);
		mix_block(hash, last);
	}
}

void hash128_add_number(struct hash128 *hash, uint64_t number)
{
	mix(hash, number, ~number);
}
