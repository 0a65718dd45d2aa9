#include "fleet/lr_watch.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum {
	DIGITS_ENOUGH = 4,
	PLACES_ENOUGH = 9,
	PLACES_OF_ZERO = 6, /* as trainers print it that say no more yet */
};

static double round_to(double value, unsigned digits)
{
	char text[40];

	snprintf(text, sizeof text, "%.*e", (int)digits - 1, value);
	return strtod(text, NULL);
}

static unsigned count_digits(double value)
{
	unsigned digits = 1;

	while (digits < DIGITS_ENOUGH && fabs(round_to(value, digits) - value) > 1e-9 * fabs(value))
		digits++;
	return digits;
}

/* Behind the point: 3 of 0.002. */
static unsigned count_places(double value)
{
	unsigned places = 1;

	for (double unit = 10; places < PLACES_ENOUGH && fabs(rint(value * unit) / unit - value) > 1e-9 * fabs(value);
		unit *= 10)
		places++;
	return places;
}

/* What is printed with a fixed number of decimals is as exact as the last one, however small it is. */
static bool is_within_place(const struct lr_watch *watch, const struct lr_print *print)
{
	unsigned places = watch->places ? watch->places : PLACES_OF_ZERO;

	return places < PLACES_ENOUGH &&
	       fabs(print->observed - print->declared) <= 0.5 * (1 + 1e-6) * pow(10, -(double)places);
}

/* Whichever of the rates around it was meant: printed with so many digits it may be this. */
static bool is_rounded(const struct lr_schedule *schedule, const struct lr_print *print, unsigned digits)
{
	double unit = pow(10, floor(log10(print->observed)) - (digits - 1));

	return lr_schedule_is_kept(schedule, (double)print->step, print->observed - unit / 2) ||
	       lr_schedule_is_kept(schedule, (double)print->step, print->observed + unit / 2) ||
	       fabs(print->observed - print->declared) <= unit / 2;
}

static bool is_kept(const struct lr_watch *watch, const struct lr_schedule *schedule, const struct lr_print *print)
{
	if (lr_schedule_is_kept(schedule, (double)print->step, print->observed) || is_within_place(watch, print))
		return true;
	return print->observed > 0 && watch->digits < DIGITS_ENOUGH && is_rounded(schedule, print, watch->digits);
}

static size_t count_at(struct span text, size_t at)
{
	size_t end = at;

	while (end < text.len && isdigit((unsigned char)text.ptr[end]))
		end++;
	return end - at;
}

/* "3.000000E-04" at the beginning of it: how long it is, and the digits before its exponent; 0: no number of this form. */
static size_t measure_scientific(struct span text, size_t *digits)
{
	size_t len = count_at(text, 0), decimals = 0, exponent;

	if (!len)
		return 0;
	if (len < text.len && text.ptr[len] == '.') {
		decimals = count_at(text, len + 1);
		*digits = len + decimals;
		len += 1 + decimals;
	} else {
		*digits = len;
	}
	if (len >= text.len || (text.ptr[len] != 'e' && text.ptr[len] != 'E'))
		return 0;
	len++;
	if (len < text.len && (text.ptr[len] == '-' || text.ptr[len] == '+'))
		len++;
	exponent = count_at(text, len);
	return exponent ? len + exponent : 0;
}

void lr_watch_read(struct lr_watch *watch, struct span line, double value)
{
	size_t at = 0;

	watch->is_line_read = true;
	while (at < line.len) {
		size_t digits = 0, len = measure_scientific(span_skip(line, at), &digits);
		double number;
		if (len && digits >= DIGITS_ENOUGH && span_parse_double(span_of(line.ptr + at, len), &number) &&
			number == value) {
			watch->digits = DIGITS_ENOUGH;
			watch->places = PLACES_ENOUGH;
			return;
		}
		at += len ? len : count_at(line, at) + 1;
	}
}

void lr_watch_take(struct lr_watch *watch, const struct lr_schedule *schedule, const struct lr_print *print)
{
	if (!isfinite(print->observed))
		return;
	if (watch->digits < DIGITS_ENOUGH && print->observed > 0) {
		unsigned digits = count_digits(print->observed);
		watch->digits = digits > watch->digits ? digits : watch->digits;
	}
	if (watch->places < PLACES_ENOUGH && print->observed > 0) {
		unsigned places = count_places(print->observed);
		watch->places = places > watch->places ? places : watch->places;
	}
	if (is_kept(watch, schedule, print)) {
		watch->kept++;
		watch->differing = 0;
		return;
	}
	watch->kept = 0;
	if (!watch->differing++)
		watch->first = *print;
}
