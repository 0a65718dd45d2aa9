/*
 * Job: borrowed bytes by value; no terminating NUL is promised.
 * Ownership: none. Threads: values.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct span {
	const char *ptr;
	size_t len;
};

#define SPAN(literal) ((struct span){"" literal, sizeof literal - 1})
/* For printf's "%.*s". */
#define SPAN_ARGS(s) (int)(s).len, (s).ptr

static inline struct span span_of(const char *ptr, size_t len)
{
	return (struct span){ptr, len};
}

static inline struct span span_from(const char *text)
{
	return (struct span){text, text ? strlen(text) : 0};
}

static inline struct span span_skip(struct span s, size_t bytes)
{
	size_t cut = bytes < s.len ? bytes : s.len;

	return cut ? (struct span){s.ptr + cut, s.len - cut} : s; /* no arithmetic on the NULL of an empty span */
}

/* Inline: beside a literal the length is known, and no call is left. */
static inline bool span_equal(struct span a, struct span b)
{
	/* NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker): only an empty span has no text */
	return a.len == b.len && (a.len == 0 || memcmp(a.ptr, b.ptr, a.len) == 0);
}

static inline bool span_starts_with(struct span s, struct span prefix)
{
	return s.len >= prefix.len && span_equal(span_of(s.ptr, prefix.len), prefix);
}

static inline bool span_ends_with(struct span s, struct span suffix)
{
	return s.len >= suffix.len && span_equal(span_skip(s, s.len - suffix.len), suffix);
}

/* Passes over it, if *rest begins so. */
static inline bool span_take(struct span *rest, struct span prefix)
{
	if (!span_starts_with(*rest, prefix))
		return false;
	*rest = span_skip(*rest, prefix.len);
	return true;
}

/* ASCII alone, whatever the locale is; tolower() is a call a byte. */
static inline char span_fold(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}
bool span_equal_fold(struct span a, struct span b); /* ASCII case folded */
/* -1 when it is not there. */
ptrdiff_t span_find(struct span s, struct span needle);
ptrdiff_t span_find_char(struct span s, char c);
size_t span_count_char(struct span s, char c);
struct span span_trim(struct span s); /* spaces, tabs, CR, LF on both sides */

/* Cuts *rest at the first separator: returns what is before it, *rest becomes what is behind it. False at the end. */
bool span_next(struct span *rest, char separator, struct span *part);
/* As span_next, but for separators between double quotes, in which a backslash speaks for the next byte. */
bool span_next_unquoted(struct span *rest, char separator, struct span *part);

/* The whole span must be the number. */
bool span_parse_i64(struct span s, int64_t *value);
bool span_parse_u64(struct span s, uint64_t *value);
/* Decimal (up to 511 characters), exponent, and what span_scan_non_finite() finds; no hex, no locale. Too large: an infinity. */
bool span_parse_double(struct span s, double *value);
/*
 * Bytes of the NaN or the infinity that s begins with, as runtimes print them: nan, nan(ind), inf, infinity, and 1.#QNAN, 1.#IND, 1.#INF of
 * Microsoft's old one, in any case, with sign. 0: there is none, and *value stays. What stands behind it is the caller's to judge.
 */
size_t span_scan_non_finite(struct span s, double *value);

/* 0 to 15, or -1. */
static inline int span_hex_digit(char c)
{
	char lower = (char)(c | 0x20);

	return c >= '0' && c <= '9' ? c - '0' : lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

int span_compare(struct span a, struct span b); /* bytewise order */
uint64_t span_hash(struct span s); /* FNV-1a folded; not for keys that an adversary chooses: see map.h */
bool span_is_ascii(struct span s);
bool span_is_utf8(struct span s); /* valid, without surrogates and overlong forms */
struct span span_cut(struct span s, size_t most); /* its first `most` bytes, or fewer: no character of UTF-8 is cut */
/* Bytes of the valid character at the start of s (not empty); 0 when it is malformed or cut off. */
size_t span_utf8_length(struct span s);
