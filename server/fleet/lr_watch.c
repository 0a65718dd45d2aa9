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
	double unit = 10;

	while (places < PLACES_ENOUGH && fabs(rint(value * unit) / unit - value) > 1e-9 * fabs(value)) {
		unit *= 10;
		places++;
	}
	return places;
}

/* What is printed with a fixed number of decimals is as exact as the last one, however small it is. */
static bool is_within_place(const struct lr_watch *watch, const struct lr_range *range, double observed)
{
	unsigned places = watch->places ? watch->places : PLACES_OF_ZERO;
	double off = fmax(0, fmax(range->low - observed, observed - range->high));

	return places < PLACES_ENOUGH && off <= 0.5 * (1 + 1e-6) * pow(10, -(double)places);
}

/* At any of these steps of the schedule; with so few digits as it has it may be more, or less. */
static bool is_between(const struct lr_watch *watch, const struct lr_schedule *schedule, const struct lr_print *print,
	double from_step, double to_step)
{
	struct lr_range range = lr_schedule_between(schedule, from_step, to_step);
	bool is_rounded = print->observed > 0 && watch->digits < DIGITS_ENOUGH;
	double unit = is_rounded ? pow(10, floor(log10(print->observed)) - (watch->digits - 1)) : 0;

	return lr_range_holds(&range, print->observed, unit / 2) || is_within_place(watch, &range, print->observed);
}

/* With any number of steps left out from least to most; the print was made up to to_step. */
static bool is_kept_without(const struct lr_watch *watch, const struct lr_schedule *schedule,
	const struct lr_print *print, int64_t to_step, int64_t least, int64_t most)
{
	return is_between(watch, schedule, print, (double)print->step - (double)most, (double)to_step - (double)least);
}

/* The fewest that hold, halved each time and never one by one: a step may be a count of tokens, and billions left out. The ranges of
 * neighbours overlap, so what holds for all of them together holds for one, though a rate jumps. */
static int64_t find_fewest(const struct lr_watch *watch, const struct lr_schedule *schedule,
	const struct lr_print *print, int64_t to_step, int64_t least, int64_t most)
{
	while (least < most) {
		int64_t middle = least + (most - least) / 2;
		if (is_kept_without(watch, schedule, print, to_step, least, middle))
			most = middle;
		else
			least = middle + 1;
	}
	return least;
}

/* The most, in the same way. */
static int64_t find_most(const struct lr_watch *watch, const struct lr_schedule *schedule, const struct lr_print *print,
	int64_t to_step, int64_t least, int64_t most)
{
	while (least < most) {
		int64_t middle = most - (most - least) / 2;
		if (is_kept_without(watch, schedule, print, to_step, middle, most))
			least = middle;
		else
			most = middle - 1;
	}
	return least;
}

/* From one print to the next no more steps are left out than were tried: a rate that falls may stand still, but does not rise. */
static int64_t most_left_out(
	const struct lr_watch *watch, const struct lr_schedule *schedule, const struct lr_print *print, int64_t to_step)
{
	int64_t most = lr_schedule_skips(schedule, print->step), tried;

	if (!watch->has_kept || __builtin_sub_overflow(to_step, watch->kept_step, &tried))
		return most;
	return most - watch->most_skipped > tried ? watch->most_skipped + tried : most;
}

/* What comes late, from before the newest, says nothing of those that follow it. */
static bool is_kept(
	struct lr_watch *watch, const struct lr_schedule *schedule, const struct lr_print *print, int64_t to_step)
{
	if (print->attempt != watch->attempt) {
		watch->skipped = watch->most_skipped = 0;
		watch->has_kept = false;
	}
	watch->attempt = print->attempt;
	if (watch->has_kept && print->step < watch->kept_step)
		return is_kept_without(watch, schedule, print, to_step, 0, watch->most_skipped);
	int64_t least = watch->skipped, most = most_left_out(watch, schedule, print, to_step);
	most = most < least ? least : most;
	if (!is_kept_without(watch, schedule, print, to_step, least, most))
		return false;
	watch->skipped = find_fewest(watch, schedule, print, to_step, least, most);
	watch->most_skipped = find_most(watch, schedule, print, to_step, watch->skipped, most);
	watch->kept_step = print->step;
	watch->has_kept = true;
	return true;
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
	watch->is_of_bar = span_find(line, SPAN("'learning_rate':")) >= 0 && span_find(line, SPAN("step")) < 0;
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

static void note_exactness(struct lr_watch *watch, double observed)
{
	if (watch->digits < DIGITS_ENOUGH && observed > 0) {
		unsigned digits = count_digits(observed);
		watch->digits = digits > watch->digits ? digits : watch->digits;
	}
	if (watch->places < PLACES_ENOUGH && observed > 0) {
		unsigned places = count_places(observed);
		watch->places = places > watch->places ? places : watch->places;
	}
}

static void judge(
	struct lr_watch *watch, const struct lr_schedule *schedule, const struct lr_print *print, int64_t to_step)
{
	if (is_kept(watch, schedule, print, to_step)) {
		watch->kept++;
		watch->differing = 0;
		return;
	}
	watch->kept = 0;
	if (!watch->differing++)
		watch->first = *print;
}

/* Beside multiples of one number there is step 1 alone, which may be asked for. Nothing is made at step 0. */
static void note_stride(struct lr_watch *watch, const struct lr_print *last, const struct lr_print *next)
{
	int64_t stride = next->step - last->step;
	bool is_odd = stride <= 0 || next->step % stride != 0 || (watch->stride && stride != watch->stride);

	if (last->step == 1 && stride > 0 && !watch->stride)
		return;
	watch->is_loose |= is_odd;
	watch->was_loose |= is_odd;
	watch->stride = stride;
}

/* Several that stand at one step: the bar was not drawn between them, and where they belong is not known. */
static void take_of_bar(struct lr_watch *watch, const struct lr_schedule *schedule, const struct lr_print *print)
{
	struct lr_print last = watch->last;
	bool is_first = !watch->has_last || last.attempt != print->attempt;

	watch->last = *print;
	watch->has_last = true;
	if (is_first) {
		watch->stride = 0;
		watch->is_loose = print->step <= 0;
		watch->was_loose |= watch->is_loose;
		return;
	}
	note_stride(watch, &last, print);
	if (print->step > last.step)
		judge(watch, schedule, &last, watch->is_loose ? print->step : last.step);
}

void lr_watch_take(struct lr_watch *watch, const struct lr_schedule *schedule, const struct lr_print *print)
{
	if (!isfinite(print->observed))
		return;
	note_exactness(watch, print->observed);
	if (watch->is_of_bar)
		take_of_bar(watch, schedule, print);
	else
		judge(watch, schedule, print, print->step);
}
