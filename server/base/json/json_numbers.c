/* Numbers as JSON. */
#include "base/json/json_write.h"
#include "base/text/decimal.h"

#include <endian.h>
#include <math.h>

enum {
	MAX_PLAIN_DIGITS = 21,
	MAX_LEADING_ZEROS = 6,
	WORD = 8, /* digits */
	COPY = 24, /* bytes that are always copied: more than a double has digits */
	ROOM = 64, /* of the longest number, with what is written behind its end */
	AT_ONCE = 64,
	SHORT_PLACES = 7,
	USUAL_PLACES = 4,
};

#define WORD_END 100000000u /* 10^WORD */
static const uint64_t zeros = 0x3030303030303030u;
static const double exact_integers = 9007199254740992.0; /* 2^53: up to here a double holds every integer */
static const double short_powers[SHORT_PLACES + 1] = {1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7};

/* ---- digits ---- */

/* The eight digits of a number below WORD_END, the first in the lowest byte. All are found at once. */
static inline uint64_t digits_of(uint32_t value)
{
	uint64_t halves = value / 10000 | (uint64_t)(value % 10000) << 32;
	uint64_t hundreds = (halves * 10486 >> 20) & 0x0000007f0000007fu;
	uint64_t pairs = hundreds | (halves - 100 * hundreds) << 16;
	uint64_t tens = (pairs * 103 >> 10) & 0x000f000f000f000fu;

	return tens | (pairs - 10 * tens) << 8;
}

static void store(char *at, uint64_t bytes)
{
	bytes = htole64(bytes);
	memcpy(at, &bytes, sizeof bytes);
}

/* Up to seven bytes behind the end are written, too. */
static char *put_integer(char *at, uint64_t value)
{
	if (value >= WORD_END) {
		at = put_integer(at, value / WORD_END);
		store(at, digits_of((uint32_t)(value % WORD_END)) | zeros);
		return at + WORD;
	}
	uint64_t digits = digits_of((uint32_t)value);
	unsigned leading = digits ? (unsigned)__builtin_ctzll(digits) / 8 : WORD - 1;
	store(at, (digits | zeros) >> (leading * 8));
	return at + (WORD - leading);
}

static char *put(char *at, const char *bytes, size_t len)
{
	memcpy(at, bytes, COPY);
	return at + len;
}

static char *put_zeros(char *at, int count)
{
	for (; count > 0; count--)
		*at++ = '0';
	return at;
}

static char *put_exponent(char *at, int exponent)
{
	*at++ = 'e';
	*at++ = exponent < 0 ? '-' : '+';
	return put_integer(at, (uint64_t)(exponent < 0 ? -exponent : exponent));
}

/* digits (count of them) with the point behind the first `whole`: 1234.5, 0.00012, 1200000, 1.2e+30. */
static char *put_decimal(char *at, const char *digits, int count, int whole)
{
	if (whole > MAX_PLAIN_DIGITS || whole < -MAX_LEADING_ZEROS) {
		*at++ = digits[0];
		if (count > 1) {
			*at++ = '.';
			at = put(at, digits + 1, (size_t)count - 1);
		}
		return put_exponent(at, whole - 1);
	}
	if (whole >= count)
		return put_zeros(put(at, digits, (size_t)count), whole - count);
	if (whole > 0) {
		at = put(at, digits, (size_t)whole);
		*at++ = '.';
		return put(at, digits + whole, (size_t)(count - whole));
	}
	*at++ = '0';
	*at++ = '.';
	at = put_zeros(at, -whole);
	return put(at, digits, (size_t)count);
}

/*
 * Eight digits at most, `places` of them behind the point, if that is what the number is: two decimals of so few digits are never the
 * same double, so it is also the shortest. Not of integers. NULL: it is another.
 */
static char *put_short(char *at, double magnitude, unsigned places)
{
	double scaled = magnitude * short_powers[places];

	if (!(scaled < WORD_END - 1))
		return NULL;
	uint32_t value = (uint32_t)(scaled + 0.5);
	if (!value || value / short_powers[places] != magnitude)
		return NULL;
	uint64_t digits = digits_of(value);
	unsigned whole = WORD - places, leading = (unsigned)__builtin_ctzll(digits) / 8;
	unsigned trailing = (unsigned)__builtin_clzll(digits) / 8;
	leading = leading < whole ? leading : whole - 1;
	store(at, (digits | zeros) >> (leading * 8));
	at += whole - leading;
	*at++ = '.';
	store(at, (digits | zeros) >> (whole * 8));
	return at + (places - trailing);
}

/* *places: those of the number before it, as numbers of a log mostly have. */
static char *put_magnitude(char *at, double magnitude, unsigned *places)
{
	char text[2 * COPY];

	if (magnitude < exact_integers && magnitude == (double)(uint64_t)magnitude)
		return put_integer(at, (uint64_t)magnitude);
	char *end = put_short(at, magnitude, *places);
	if (end)
		return end;
	struct decimal decimal = decimal_shortest(magnitude);
	for (; decimal.digits % 10 == 0; decimal.exponent++)
		decimal.digits /= 10;
	if (decimal.digits < WORD_END && decimal.exponent < 0 && decimal.exponent >= -SHORT_PLACES)
		*places = (unsigned)-decimal.exponent;
	int count = (int)(put_integer(text, decimal.digits) - text);
	return put_decimal(at, text, count, count + decimal.exponent);
}

static const char *name_of_non_finite(double value)
{
	return isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity";
}

static char *put_name(char *at, double value)
{
	struct span name = span_from(name_of_non_finite(value));

	memcpy(at, name.ptr, name.len);
	return at + name.len;
}

static char *put_finite(char *at, double value, unsigned *places)
{
	if (signbit(value))
		*at++ = '-';
	return put_magnitude(at, fabs(value), places);
}

size_t json_format_double(double value, char out[33])
{
	unsigned places = USUAL_PLACES;
	char text[ROOM], *end = isfinite(value) ? put_finite(text, value, &places) : put_name(text, value);
	size_t len = (size_t)(end - text);

	memcpy(out, text, len);
	out[len] = 0;
	return len;
}

/* ---- one ---- */

static char *put_comma(struct json_writer *w, char *at)
{
	*at = ',';
	at += w->needs_comma;
	w->needs_comma = true;
	return at;
}

static char *put_i64(char *at, int64_t value)
{
	if (value < 0)
		*at++ = '-';
	return put_integer(at, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
}

void json_i64(struct json_writer *w, int64_t value)
{
	char text[ROOM];

	buf_append(w->out, text, (size_t)(put_i64(put_comma(w, text), value) - text));
}

void json_u64(struct json_writer *w, uint64_t value)
{
	char text[ROOM];

	buf_append(w->out, text, (size_t)(put_integer(put_comma(w, text), value) - text));
}

void json_double(struct json_writer *w, double value)
{
	unsigned places = USUAL_PLACES;
	char text[ROOM];

	if (isfinite(value))
		buf_append(w->out, text, (size_t)(put_finite(put_comma(w, text), value, &places) - text));
	else
		json_text(w, name_of_non_finite(value));
}

/* ---- many ---- */

/* By their bits: what is the same twice is found alike. */
static inline uint64_t bits_at(const void *values, size_t at)
{
	uint64_t bits;

	memcpy(&bits, (const char *)values + at * sizeof bits, sizeof bits);
	return bits;
}

static char *put_double(char *at, uint64_t bits, unsigned *places)
{
	double value;

	memcpy(&value, &bits, sizeof value);
	if (isfinite(value))
		return put_finite(at, value, places);
	*at++ = '"';
	at = put_name(at, value);
	*at++ = '"';
	return at;
}

/* Most columns of a chart are one number for long. */
static inline __attribute__((always_inline)) char *put_some(
	struct json_writer *w, char *at, const void *values, size_t count, unsigned *places, bool are_doubles)
{
	for (size_t i = 0; i < count;) {
		char *start = at, text[ROOM / 2];
		uint64_t bits = bits_at(values, i);
		at = put_comma(w, at);
		at = are_doubles ? put_double(at, bits, places) : put_i64(at, (int64_t)bits);
		if (++i == 1 || i == count || bits_at(values, i) != bits) /* the first may have no comma */
			continue;
		memcpy(text, start, sizeof text);
		for (size_t len = (size_t)(at - start); i < count && bits_at(values, i) == bits; i++, at += len)
			memcpy(at, text, sizeof text);
	}
	return at;
}

/* NULL: near the buf's limit each has to find its own room. */
static char *room_for(struct buf *out, size_t count)
{
	return out->max_bytes - out->len < count * ROOM ? NULL : buf_reserve(out, count * ROOM);
}

void json_i64s(struct json_writer *w, const int64_t *values, size_t count)
{
	for (size_t some; count; values += some, count -= some) {
		some = count < AT_ONCE ? count : AT_ONCE;
		char *room = room_for(w->out, some);
		if (room)
			buf_advance(w->out, (size_t)(put_some(w, room, values, some, NULL, false) - room));
		for (size_t i = 0; i < some && !room; i++)
			json_i64(w, values[i]);
	}
}

void json_doubles(struct json_writer *w, const double *values, size_t count)
{
	unsigned places = USUAL_PLACES;

	for (size_t some; count; values += some, count -= some) {
		some = count < AT_ONCE ? count : AT_ONCE;
		char *room = room_for(w->out, some);
		if (room)
			buf_advance(w->out, (size_t)(put_some(w, room, values, some, &places, true) - room));
		for (size_t i = 0; i < some && !room; i++)
			json_double(w, values[i]);
	}
}
