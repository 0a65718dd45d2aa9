#include "base/bytes16.h"
#include "base/span.h"

#include <limits.h>

/* Longer needles are left to memmem(), whose time no text can make much longer. */
enum { LONG_NEEDLE_BYTES = 32 };

static const char *find_by_libc(struct span s, struct span needle)
{
	return memmem(s.ptr, s.len, needle.ptr, needle.len);
}

/* At one of the 16 places from this one on. */
static const char *find_within(const char *at, struct span needle)
{
	for (size_t i = 0; i < sizeof(bytes16); i++)
		if (at[i] == needle.ptr[0] && memcmp(at + i, needle.ptr, needle.len) == 0)
			return at + i;
	return NULL;
}

/*
 * Every line is searched for several words, and nearly always in vain: 16 places at a time are compared by the first, the middle and the last
 * byte of the needle, where memmem() takes two to four times as long. There are at least 16; the last of them are looked at together,
 * some for a second time.
 */
static const char *find_by_bytes(struct span s, struct span needle)
{
	size_t middle = needle.len / 2, last = needle.len - 1;
	unsigned char a = (unsigned char)needle.ptr[0], b = (unsigned char)needle.ptr[middle],
		      c = (unsigned char)needle.ptr[last];
	const char *at = s.ptr, *end = s.ptr + s.len - last - sizeof(bytes16);

	for (;;) {
		bytes16 hits = (bytes16)((bytes16_at(at) == a) & (bytes16_at(at + middle) == b) &
					 (bytes16_at(at + last) == c));
		const char *found = bytes16_has_any(hits) ? find_within(at, needle) : NULL;
		if (found || at == end)
			return found;
		at = (size_t)(end - at) > sizeof hits ? at + sizeof hits : end;
	}
}

#ifdef __x86_64__
#include <immintrin.h>

#define WIDE __attribute__((target("avx2")))

enum { PLACES = 32 };

static bool can_be_wide(void)
{
	return __builtin_cpu_supports("avx2");
}

WIDE static inline __m256i compare(const char *at, __m256i byte)
{
	return _mm256_cmpeq_epi8(_mm256_loadu_si256((const __m256i *)(const void *)at), byte);
}

/* The same at 32 places, where there are so many: whole blocks of text are searched, too. */
WIDE static const char *find_wide(struct span s, struct span needle)
{
	size_t middle = needle.len / 2, last = needle.len - 1;
	const __m256i a = _mm256_set1_epi8(needle.ptr[0]), b = _mm256_set1_epi8(needle.ptr[middle]),
		      c = _mm256_set1_epi8(needle.ptr[last]);
	const char *at = s.ptr, *end = s.ptr + s.len - last - PLACES;

	for (;;) {
		uint32_t places = 0;
		for (;; at = (size_t)(end - at) > PLACES ? at + PLACES : end) {
			__m256i hits = _mm256_and_si256(compare(at, a), compare(at + last, c));
			hits = _mm256_and_si256(hits, compare(at + middle, b));
			places = (uint32_t)_mm256_movemask_epi8(hits);
			if (places || at == end)
				break;
		}
		for (; places; places &= places - 1) {
			const char *place = at + __builtin_ctz(places);
			if (memcmp(place, needle.ptr, needle.len) == 0)
				return place;
		}
		if (at == end)
			return NULL;
		at = (size_t)(end - at) > PLACES ? at + PLACES : end;
	}
}

/* Of whole groups of 32 bytes. */
WIDE static size_t count_wide(const char *at, size_t groups, char c)
{
	const __m256i byte = _mm256_set1_epi8(c), zero = _mm256_setzero_si256();
	__m256i sums = zero;

	while (groups) {
		__m256i counts = zero;
		for (unsigned i = 0; i < UCHAR_MAX && groups; i++, groups--, at += PLACES)
			counts = _mm256_sub_epi8(counts, compare(at, byte));
		sums = _mm256_add_epi64(sums, _mm256_sad_epu8(counts, zero));
	}
	uint64_t parts[4];
	memcpy(parts, &sums, sizeof parts);
	return parts[0] + parts[1] + parts[2] + parts[3];
}
#else
enum { PLACES = 32 };

static bool can_be_wide(void)
{
	return false;
}

static const char *find_wide(struct span s, struct span needle)
{
	return find_by_bytes(s, needle);
}
#endif

ptrdiff_t span_find(struct span s, struct span needle)
{
	if (needle.len == 0)
		return 0;
	if (s.len < needle.len)
		return -1;
	size_t places = s.len - needle.len + 1;
	const char *hit = places < sizeof(bytes16) || needle.len > LONG_NEEDLE_BYTES ? find_by_libc(s, needle)
			  : places >= PLACES && can_be_wide()                        ? find_wide(s, needle)
										     : find_by_bytes(s, needle);
	return hit ? hit - s.ptr : -1;
}

size_t span_count_char(struct span s, char c)
{
	size_t count = 0, at = 0;

#ifdef __x86_64__
	at = can_be_wide() ? s.len / PLACES * PLACES : 0;
	count = at ? count_wide(s.ptr, at / PLACES, c) : 0;
#endif
	for (; at < s.len; at++)
		count += s.ptr[at] == c;
	return count;
}
