#include "extract/line/sieve_wide.h"

enum { PLACES = 32, TEXT_MIN = PLACES + SIEVE_WIDE_KEY - 1 };

static const char *key_of(const struct sieve_entry *entry)
{
	return entry->text + entry->offset;
}

static void add_byte(struct sieve_table *table, unsigned place, unsigned char byte, unsigned bucket)
{
	table->nibbles[2 * place][byte & 15] |= (unsigned char)(1u << bucket);
	table->nibbles[2 * place + 1][byte >> 4] |= (unsigned char)(1u << bucket);
}

/* In both cases. Behind the shortest literal stands anything. */
static void add_key(struct sieve_table *table, const struct sieve_entry *entry, unsigned bucket)
{
	for (unsigned place = 0; place < SIEVE_WIDE_KEY; place++) {
		unsigned char byte = (unsigned char)key_of(entry)[place];
		for (unsigned half = 0; half < 16 && place == entry->len; half++)
			add_byte(table, place, (unsigned char)(half * 0x11), bucket);
		if (place < entry->len) {
			add_byte(table, place, byte, bucket);
			add_byte(table, place, byte & (unsigned char)~0x20, bucket);
		}
	}
	table->has_short |= entry->len < SIEVE_WIDE_KEY;
}

/* Those of one key are of one bucket, which they make no fuller. */
bool sieve_wide_fill(struct sieve_table *table)
{
	const char *keys[SIEVE_WIDE_KEYS_MOST];
	unsigned count = 0;

	for (size_t i = 0; i < table->entry_count; i++) {
		struct sieve_entry *entry = &table->entries[i];
		unsigned key = 0;
		while (key < count && memcmp(keys[key], key_of(entry), SIEVE_WIDE_KEY) != 0)
			key++;
		if (key == SIEVE_WIDE_KEYS_MOST)
			return false;
		keys[key] = key_of(entry);
		count += key == count;
		uint16_t *bucket = &table->buckets[key % SIEVE_BUCKETS];
		add_key(table, entry, key % SIEVE_BUCKETS);
		entry->next = *bucket;
		*bucket = (uint16_t)(i + 1);
	}
	return true;
}

#ifdef __x86_64__
#include <immintrin.h>

#define WIDE __attribute__((target("avx2")))

bool sieve_can_be_wide(void)
{
	return __builtin_cpu_supports("avx2");
}

WIDE static inline __m256i table_of(const unsigned char nibbles[16])
{
	return _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)nibbles));
}

/* Which buckets have such a byte: of 32 in a row. */
WIDE static inline __m256i buckets_of(const char *at, __m256i low, __m256i high)
{
	const __m256i half = _mm256_set1_epi8(15);
	__m256i bytes = _mm256_loadu_si256((const __m256i *)(const void *)at);
	__m256i lows = _mm256_shuffle_epi8(low, _mm256_and_si256(bytes, half));
	__m256i highs = _mm256_shuffle_epi8(high, _mm256_and_si256(_mm256_srli_epi16(bytes, 4), half));

	return _mm256_and_si256(lows, highs);
}

static void look_at_all(const struct sieve_table *table, const unsigned char buckets[PLACES], uint32_t places,
	struct span text, size_t from, uint64_t found[SIEVE_WORDS])
{
	for (; places; places &= places - 1) {
		unsigned place = (unsigned)__builtin_ctz(places);
		if (from + place >= text.len)
			return;
		for (unsigned bits = buckets[place]; bits; bits &= bits - 1)
			sieve_look(table, table->buckets[__builtin_ctz(bits)], text, from + place, found);
	}
}

/* The last places are looked at together, some for a second time. */
WIDE static void find(
	const struct sieve_table *table, const char *padded, struct span text, uint64_t found[SIEVE_WORDS])
{
	const __m256i a = table_of(table->nibbles[0]), b = table_of(table->nibbles[1]);
	const __m256i c = table_of(table->nibbles[2]), d = table_of(table->nibbles[3]);
	const __m256i e = table_of(table->nibbles[4]), f = table_of(table->nibbles[5]);
	const __m256i g = table_of(table->nibbles[6]), h = table_of(table->nibbles[7]);
	size_t last = text.len > TEXT_MIN ? text.len - TEXT_MIN : 0;

	for (size_t at = 0;; at = last - at > PLACES ? at + PLACES : last) {
		const char *key = padded + at;
		__m256i hits = _mm256_and_si256(buckets_of(key, a, b), buckets_of(key + 1, c, d));
		hits = _mm256_and_si256(hits, buckets_of(key + 2, e, f));
		hits = _mm256_and_si256(hits, buckets_of(key + 3, g, h));
		__m256i none = _mm256_cmpeq_epi8(hits, _mm256_setzero_si256());
		uint32_t places = ~(uint32_t)_mm256_movemask_epi8(none);
		if (__builtin_expect(places != 0, 0)) {
			unsigned char buckets[PLACES];
			_mm256_storeu_si256((__m256i *)(void *)buckets, hits);
			look_at_all(table, buckets, places, text, at, found);
		}
		if (at == last)
			return;
	}
}

void sieve_wide_find(const struct sieve_table *table, struct span text, uint64_t found[SIEVE_WORDS])
{
	char padded[TEXT_MIN] = {0};

	if (!table->entry_count || text.len < SIEVE_WIDE_KEY - 1)
		return;
	if (text.len < TEXT_MIN)
		memcpy(padded, text.ptr, text.len);
	find(table, text.len < TEXT_MIN ? padded : text.ptr, text, found);
	for (unsigned i = 0; table->has_short && i < SIEVE_BUCKETS; i++) /* the end is no room for a key */
		sieve_look(table, table->buckets[i], text, text.len - (SIEVE_WIDE_KEY - 1), found);
}
#else
bool sieve_can_be_wide(void)
{
	return false;
}

void sieve_wide_find(const struct sieve_table *table, struct span text, uint64_t found[SIEVE_WORDS])
{
	(void)table;
	(void)text;
	(void)found;
}
#endif
