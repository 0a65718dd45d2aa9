#include "base/span.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>

/* The longest text of a double by "%f" has 317 characters; past the fast limit the counting would have to be wider. */
enum { MAX_FAST_CHARACTERS = 64, MAX_NUMBER_CHARACTERS = 511 };

bool span_equal_fold(struct span a, struct span b)
{
	if (a.len != b.len)
		return false;
	for (size_t i = 0; i < a.len; i++)
		if (span_fold(a.ptr[i]) != span_fold(b.ptr[i]))
			return false;
	return true;
}

ptrdiff_t span_find_char(struct span s, char c)
{
	const char *hit = s.len ? memchr(s.ptr, c, s.len) : NULL;
	return hit ? hit - s.ptr : -1;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

struct span span_trim(struct span s)
{
	while (s.len && is_blank(s.ptr[0]))
		s = span_skip(s, 1);
	while (s.len && is_blank(s.ptr[s.len - 1]))
		s.len--;
	return s;
}

bool span_next(struct span *rest, char separator, struct span *part)
{
	if (!rest->ptr)
		return false;
	ptrdiff_t at = span_find_char(*rest, separator);
	if (at < 0) {
		*part = *rest;
		*rest = (struct span){NULL, 0};
		return true;
	}
	*part = span_of(rest->ptr, (size_t)at);
	*rest = span_of(rest->ptr + at + 1, rest->len - (size_t)at - 1);
	return true;
}

bool span_next_unquoted(struct span *rest, char separator, struct span *part)
{
	bool is_quoted = false;

	if (!rest->ptr)
		return false;
	for (size_t i = 0; i < rest->len; i++) {
		is_quoted ^= rest->ptr[i] == '"';
		if (is_quoted && rest->ptr[i] == '\\')
			i++;
		else if (!is_quoted && rest->ptr[i] == separator) {
			*part = span_of(rest->ptr, i);
			*rest = span_skip(*rest, i + 1);
			return true;
		}
	}
	*part = *rest;
	*rest = (struct span){NULL, 0};
	return true;
}

bool span_parse_u64(struct span s, uint64_t *value)
{
	uint64_t sum = 0;

	if (s.len == 0)
		return false;
	for (size_t i = 0; i < s.len; i++) {
		unsigned digit = (unsigned)(s.ptr[i] - '0');
		if (digit > 9 || __builtin_mul_overflow(sum, (uint64_t)10, &sum) ||
			__builtin_add_overflow(sum, (uint64_t)digit, &sum))
			return false;
	}
	*value = sum;
	return true;
}

bool span_parse_i64(struct span s, int64_t *value)
{
	bool is_negative = s.len && s.ptr[0] == '-';
	uint64_t magnitude;

	if (s.len && (s.ptr[0] == '-' || s.ptr[0] == '+'))
		s = span_skip(s, 1);
	if (!span_parse_u64(s, &magnitude) || magnitude > (uint64_t)INT64_MAX + is_negative)
		return false;
	*value = is_negative ? (int64_t)(0 - magnitude) : (int64_t)magnitude;
	return true;
}

static bool starts_fold(struct span s, struct span word)
{
	return s.len >= word.len && span_equal_fold(span_of(s.ptr, word.len), word);
}

/* Of "(ind)", "(0x7ff8000000000000)" behind a NaN; 0: there is none. */
static size_t payload_length(struct span s)
{
	size_t at = 1;

	if (!s.len || s.ptr[0] != '(')
		return 0;
	while (at < s.len && (isalnum((unsigned char)s.ptr[at]) || s.ptr[at] == '_'))
		at++;
	return at > 1 && at < s.len && s.ptr[at] == ')' ? at + 1 : 0;
}

/*
 * Of "1.#QNAN", "1.#IND00", "1.#INF00e+000". With fewer places than the word has letters that runtime rounds it as if they were
 * digits ("%.4f" of a NaN is 1.#QNB), so that "1.#IO" and "1.#J" may have been either; they are taken for NaN.
 */
static size_t microsoft_length(struct span s, double *value)
{
	static const struct span words[] = {SPAN("QNAN"), SPAN("QNB"), SPAN("QO"), SPAN("R"), SPAN("SNAN"), SPAN("SNB"),
		SPAN("SO"), SPAN("T"), SPAN("IND"), SPAN("INF"), SPAN("IO"), SPAN("J")};
	size_t at = 3, i = 0;

	if (!span_starts_with(s, SPAN("1.#")))
		return 0;
	while (i < sizeof words / sizeof *words && !starts_fold(span_skip(s, at), words[i]))
		i++;
	if (i == sizeof words / sizeof *words)
		return 0;
	*value = span_equal(words[i], SPAN("INF")) ? INFINITY : NAN;
	at += words[i].len;
	while (at < s.len && s.ptr[at] == '0')
		at++;
	if (starts_fold(span_skip(s, at), SPAN("e+0")))
		for (at += 3; at < s.len && s.ptr[at] == '0';)
			at++;
	return at < s.len && isalnum((unsigned char)s.ptr[at]) ? 0 : at;
}

size_t span_scan_non_finite(struct span s, double *value)
{
	size_t sign = s.len && (s.ptr[0] == '-' || s.ptr[0] == '+'), len = 0;
	struct span word = span_skip(s, sign);
	double found = NAN;

	switch (word.len ? word.ptr[0] | 0x20 : 0) {
	case 'n':
		len = starts_fold(word, SPAN("nan")) ? 3 + payload_length(span_skip(word, 3)) : 0;
		break;
	case 'i':
		found = INFINITY;
		len = starts_fold(word, SPAN("infinity")) ? 8 : starts_fold(word, SPAN("inf")) ? 3 : 0;
		break;
	case '1':
		len = microsoft_length(word, &found);
		break;
	default:
		break;
	}
	if (len)
		*value = !isnan(found) && s.ptr[0] == '-' ? -found : found;
	return len ? sign + len : 0;
}

static bool parse_non_finite(struct span s, double *value)
{
	double found;

	if (span_scan_non_finite(s, &found) != s.len)
		return false;
	*value = found;
	return true;
}

/* The digits and the point, in text from *at on; how many places the point moves them goes into *exponent. */
static bool scan_digits(struct span s, size_t *at, uint64_t *mantissa, int *exponent)
{
	size_t start = *at, point = SIZE_MAX;

	for (; *at < s.len; ++*at) {
		unsigned digit = (unsigned)(s.ptr[*at] - '0');
		if (digit <= 9) {
			if (*mantissa > UINT64_MAX / 10 - 1)
				return false;
			*mantissa = *mantissa * 10 + digit;
		} else if (s.ptr[*at] == '.' && point == SIZE_MAX) {
			point = *at;
		} else {
			break;
		}
	}
	bool has_point = point != SIZE_MAX;
	*exponent = has_point ? -(int)(*at - point - 1) : 0;
	return *at - start > has_point;
}

/* e, sign, at most three digits, and the end. */
static bool scan_exponent(struct span s, int *exponent)
{
	int64_t value;

	if (s.len < 2 || s.len > 5 || (s.ptr[0] | 0x20) != 'e' || !span_parse_i64(span_skip(s, 1), &value))
		return false;
	*exponent += (int)value;
	return true;
}

/*
 * A mantissa up to 2^53 and a power of ten up to 10^22 are both exact, so one operation rounds correctly (Clinger's fast
 * path): nearly everything that training code prints. False: strtod has to do it.
 */
static bool parse_exact(struct span s, double *value)
{
	static const double powers[] = {1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14,
		1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
	bool is_negative = s.len && s.ptr[0] == '-';
	size_t at = s.len && (s.ptr[0] == '-' || s.ptr[0] == '+');
	uint64_t mantissa = 0;
	int exponent;

	if (s.len > MAX_FAST_CHARACTERS || !scan_digits(s, &at, &mantissa, &exponent))
		return false;
	if (at < s.len && !scan_exponent(span_skip(s, at), &exponent))
		return false;
	if (mantissa > (uint64_t)1 << 53 || exponent < -22 || exponent > 22)
		return false;
	double magnitude = (double)mantissa;
	magnitude = exponent < 0 ? magnitude / powers[-exponent] : magnitude * powers[exponent];
	*value = is_negative ? -magnitude : magnitude;
	return true;
}

bool span_parse_double(struct span s, double *value)
{
	char text[MAX_NUMBER_CHARACTERS + 1], *end;

	if (parse_exact(s, value))
		return true;
	if (s.len == 0 || s.len > MAX_NUMBER_CHARACTERS)
		return false;
	for (size_t i = 0; i < s.len; i++)
		if (!isdigit((unsigned char)s.ptr[i]) && !memchr("+-.eE", s.ptr[i], 5))
			return parse_non_finite(s, value);
	memcpy(text, s.ptr, s.len);
	text[s.len] = 0;
	double number = strtod(text, &end);
	if (end != text + s.len)
		return false;
	*value = number;
	return true;
}

int span_compare(struct span a, struct span b)
{
	size_t common = a.len < b.len ? a.len : b.len;
	int order = common ? memcmp(a.ptr, b.ptr, common) : 0;

	return order ? order : (a.len > b.len) - (a.len < b.len);
}

uint64_t span_hash(struct span s)
{
	uint64_t hash = 0xcbf29ce484222325u;

	for (size_t i = 0; i < s.len; i++)
		hash = (hash ^ (unsigned char)s.ptr[i]) * 0x100000001b3u;
	return hash ^ hash >> 32;
}

size_t span_utf8_length(struct span s)
{
	unsigned char lead = (unsigned char)s.ptr[0];
	size_t length = lead < 0x80                   ? 1
			: lead >= 0xc2 && lead < 0xe0 ? 2
			: (lead & 0xf0) == 0xe0       ? 3
			: lead >= 0xf0 && lead < 0xf5 ? 4
						      : 0;

	if (length == 0 || length > s.len)
		return 0;
	for (size_t i = 1; i < length; i++)
		if (((unsigned char)s.ptr[i] & 0xc0) != 0x80)
			return 0;
	unsigned char second = length > 1 ? (unsigned char)s.ptr[1] : 0;
	if ((lead == 0xe0 && second < 0xa0) || (lead == 0xed && second >= 0xa0) || (lead == 0xf0 && second < 0x90) ||
		(lead == 0xf4 && second >= 0x90))
		return 0;
	return length;
}

#define HIGH_BITS UINT64_C(0x8080808080808080)

/* Most of a log is ASCII, which eight bytes at once tell: up to the eight where it ends, or to the last few. */
static struct span skip_ascii(struct span s)
{
	uint64_t eight;

	for (; s.len >= sizeof eight; s = span_skip(s, sizeof eight)) {
		memcpy(&eight, s.ptr, sizeof eight);
		if (eight & HIGH_BITS)
			break;
	}
	return s;
}

bool span_is_ascii(struct span s)
{
	uint64_t four[4];

	for (; s.len >= sizeof four; s = span_skip(s, sizeof four)) {
		memcpy(four, s.ptr, sizeof four);
		if ((four[0] | four[1] | four[2] | four[3]) & HIGH_BITS)
			return false;
	}
	s = skip_ascii(s);
	for (; s.len && !(s.ptr[0] & 0x80); s = span_skip(s, 1))
		;
	return !s.len;
}

bool span_is_utf8(struct span s)
{
	for (s = skip_ascii(s); s.len; s = skip_ascii(s)) {
		size_t length = span_utf8_length(s);
		if (!length)
			return false;
		s = span_skip(s, length);
	}
	return true;
}

struct span span_cut(struct span s, size_t most)
{
	if (s.len <= most)
		return s;
	while (most && ((unsigned char)s.ptr[most] & 0xc0) == 0x80)
		most--;
	return span_of(s.ptr, most);
}
