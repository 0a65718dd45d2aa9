/*
 * Job: what a sieve looks a text's places up in (sieve.h), and the comparison that ends each look. Internal to extract/.
 * Ownership: the sieve's arena. Threads: any, once it is made.
 */
#pragma once

#include "base/span.h"
#include "extract/line/sieve_bits.h"

enum { SIEVE_NIBBLE_SETS = 8, SIEVE_BUCKETS = 8 };

/* A literal, found by the key at `offset` in it. */
struct sieve_entry {
	const char *text; /* folded */
	uint16_t len, offset;
	uint16_t next; /* of the same slot or bucket; 0: the last */
	uint64_t owners[SIEVE_WORDS];
};

/* By a few literals' bytes at once (sieve_wide.h), or by the hashes of keys. */
struct sieve_table {
	bool is_wide;
	bool has_short; /* a literal of fewer bytes than a wide key */
	unsigned key_bytes, stride, slot_shift;
	uint64_t factor;
	uint64_t always[SIEVE_WORDS]; /* patterns that require no text */
	uint64_t *marks; /* a bit for each hash that a key has: they stay in the first cache, which the slots do not */
	uint16_t *slots; /* by the key's hash; 0: none, else of entries, from 1 */
	struct sieve_entry *entries;
	size_t entry_count;
	uint16_t buckets[SIEVE_BUCKETS]; /* as the slots */
	unsigned char nibbles[SIEVE_NIBBLE_SETS]
			     [16]; /* the low and the high half of each byte of a key: a bit for each bucket */
	unsigned char rarity[256];
};

/* Letters of one case; what else falls together costs a look only. */
static inline unsigned char sieve_fold(char c)
{
	return (unsigned char)c | 0x20;
}

static inline bool sieve_equals_within(const char *text, const char *folded, size_t at)
{
	uint64_t eight, other;

	memcpy(&eight, text + at, sizeof eight);
	memcpy(&other, folded + at, sizeof other);
	return (eight | UINT64_C(0x2020202020202020)) == other;
}

/* Eight bytes at a time, the last of them some for a second time. */
static inline bool sieve_equals(const char *text, const char *folded, size_t len)
{
	size_t at = 0;

	if (len < sizeof(uint64_t)) {
		while (at < len && sieve_fold(text[at]) == (unsigned char)folded[at])
			at++;
		return at == len;
	}
	for (; at + sizeof(uint64_t) < len; at += sizeof(uint64_t))
		if (!sieve_equals_within(text, folded, at))
			return false;
	return sieve_equals_within(text, folded, len - sizeof(uint64_t));
}

/* Those from `first` on, of which one may have its key at this place. */
static inline void sieve_look(
	const struct sieve_table *table, uint16_t first, struct span text, size_t at, uint64_t found[SIEVE_WORDS])
{
	for (uint16_t i = first; i; i = table->entries[i - 1].next) {
		const struct sieve_entry *entry = &table->entries[i - 1];
		if (at < entry->offset || text.len - (at - entry->offset) < entry->len ||
			!sieve_equals(text.ptr + at - entry->offset, entry->text, entry->len))
			continue;
		for (size_t word = 0; word < SIEVE_WORDS; word++)
			found[word] |= entry->owners[word];
	}
}
