#include "chart/chart_scale.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { SECOND_MS = 1000, MINUTE_MS = 60 * SECOND_MS, HOUR_MS = 60 * MINUTE_MS, DAY_MS = 24 * HOUR_MS };

/* Differences of the largest doubles are not finite: those are taken of halves. */
static double half_of_large(double low, double high)
{
	return fmax(fabs(low), fabs(high)) > 1 ? 0.5 : 1;
}

static void pad_log(double *low, double *high)
{
	if (!(*low > 0) || !(*low <= *high)) {
		*low = 0.1;
		*high = 10;
		return;
	}
	double room = *low < *high ? pow(*high / *low, 0.05) : 2;
	if (!isfinite(room)) /* from the least to the largest: there is no more room */
		return;
	*low = fmax(*low / room, DBL_TRUE_MIN);
	*high = fmin(*high * room, DBL_MAX);
}

void scale_pad(double *low, double *high, bool is_log)
{
	if (*low <= *high) {
		*low = fmin(fmax(*low, -DBL_MAX), DBL_MAX);
		*high = fmin(fmax(*high, -DBL_MAX), DBL_MAX);
	}
	if (is_log) {
		pad_log(low, high);
		return;
	}
	if (!(*low <= *high)) {
		*low = 0;
		*high = 1;
		return;
	}
	double k = half_of_large(*low, *high), spread = *high * k - *low * k, room = spread * 0.06 / k;
	if (spread <= fabs(*high) * k * 1e-9) /* means of equal values differ by rounding */
		room = *low != 0 ? fabs(*low) * 0.1 : 1;
	else if (*low >= 0 && *low - room < 0)
		room = *low; /* what is never negative gets no negative axis */
	double top = spread <= fabs(*high) * k * 1e-9 ? room : spread * 0.06 / k;
	*low = fmax(*low - room, -DBL_MAX);
	*high = fmin(*high + top, DBL_MAX);
	if (!(*low < *high)) /* beside the least double there is none */
		*high = *low + 1;
}

double scale_place(const struct scale *scale, double value)
{
	double share;

	if (scale->is_log) {
		share = (log(value) - log(scale->low)) / (log(scale->high) - log(scale->low));
	} else {
		double k = half_of_large(scale->low, scale->high);
		share = (value * k - scale->low * k) / (scale->high * k - scale->low * k);
	}
	double px = scale->from_px + share * (scale->to_px - scale->from_px);
	return isfinite(px) ? fmin(fmax(px, -1e5), 1e5) : scale->from_px;
}

static void take_multiples(double low, double high, double step, struct scale_ticks *out)
{
	out->count = 0;
	out->step = step;
	if (!(step > 0) || !isfinite(low / step))
		return;
	double first = ceil(low / step);
	while (out->count < SCALE_TICKS_MAX) {
		double n = first + (double)out->count;
		if (n * step > high)
			return;
		out->at[out->count++] = n * step + 0.0; /* no -0 */
		if (n + 1 == n)
			return;
	}
}

void scale_ticks_even(double low, double high, size_t most, struct scale_ticks *out)
{
	static const double digits[] = {1, 2, 5, 10};
	double k = half_of_large(low, high), rough = (high * k - low * k) / (double)(most ? most : 1) / k;
	double power = pow(10, floor(log10(rough))), step = 0;

	for (size_t i = 0; i < sizeof digits / sizeof *digits && !(step >= rough); i++)
		step = digits[i] * power;
	take_multiples(low, high, step, out);
}

/* Each digit of the decades, or some, or the powers alone; where the axis spans too little for two of them, even steps. */
void scale_ticks_log(double low, double high, size_t most, struct scale_ticks *out)
{
	static const struct {
		double digits[9];
		size_t count;
	} choices[] = {{{1, 2, 3, 4, 5, 6, 7, 8, 9}, 9}, {{1, 2, 5}, 3}, {{1}, 1}};
	double decades = log10(high) - log10(low);
	size_t choice = 0;

	while (choice < 2 && decades * (double)choices[choice].count > (double)most)
		choice++;
	double stride = fmax(1, ceil(decades / (double)(most ? most : 1)));
	out->count = 0;
	out->step = 0;
	double first = floor(log10(low) / stride) * stride;
	size_t powers = (size_t)((log10(high) - first) / stride) + 1;
	for (size_t power = 0; power < powers; power++)
		for (size_t i = 0; i < choices[choice].count; i++) {
			double value = choices[choice].digits[i] * pow(10, first + (double)power * stride);
			if (value >= low && value <= high && out->count < SCALE_TICKS_MAX)
				out->at[out->count++] = value;
		}
	if (out->count < 2)
		scale_ticks_even(low, high, most < 4 ? most : 4, out);
}

void scale_ticks_time(double low, double high, size_t most, struct scale_ticks *out)
{
	static const int64_t steps[] = {1 * SECOND_MS, 2 * SECOND_MS, 5 * SECOND_MS, 10 * SECOND_MS, 15 * SECOND_MS,
		30 * SECOND_MS, 1 * MINUTE_MS, 2 * MINUTE_MS, 5 * MINUTE_MS, 10 * MINUTE_MS, 15 * MINUTE_MS,
		30 * MINUTE_MS, 1 * HOUR_MS, 2 * HOUR_MS, 3 * HOUR_MS, 6 * HOUR_MS, 12 * HOUR_MS, 1 * DAY_MS,
		2 * DAY_MS, 5 * DAY_MS};
	double rough = (high - low) / (double)(most ? most : 1);

	for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
		if ((double)steps[i] >= rough) {
			take_multiples(low, high, (double)steps[i], out);
			return;
		}
	struct scale_ticks days;
	scale_ticks_even(low / DAY_MS, high / DAY_MS, most, &days);
	take_multiples(low, high, fmax(1, days.step) * DAY_MS, out);
}

/* ---- texts ---- */

static int clamp(double value, int least, int most)
{
	return value < least ? least : value > most ? most : (int)value;
}

/* Digits behind the point that tell two ticks apart. */
static int digits_of(double step, int most)
{
	return step > 0 ? clamp(-floor(log10(step) + 1e-9), 0, most) : 0;
}

static void trim_zeros(char *text)
{
	size_t len = strlen(text);

	if (!strchr(text, '.'))
		return;
	while (len && text[len - 1] == '0')
		text[--len] = 0;
	if (len && text[len - 1] == '.')
		text[len - 1] = 0;
}

static void write_exponent(double value, double step, char out[SCALE_TEXT_BYTES])
{
	int digits = step > 0 ? clamp(floor(log10(fabs(value)) + 1e-9) - floor(log10(step) + 1e-9), 0, 8) : 2;
	char mantissa[SCALE_TEXT_BYTES];
	int power = (int)floor(log10(fabs(value)) + 1e-12);

	snprintf(mantissa, sizeof mantissa, "%.*e", digits, value);
	char *e = strchr(mantissa, 'e');
	if (e) {
		power = (int)strtol(e + 1, NULL, 10);
		*e = 0;
	}
	trim_zeros(mantissa);
	snprintf(out, SCALE_TEXT_BYTES, "%.20se%d", mantissa, power);
}

void scale_text_value(double value, double step, char out[SCALE_TEXT_BYTES])
{
	static const struct {
		double factor;
		const char *unit;
	} units[] = {{1e12, " T"}, {1e9, " G"}, {1e6, " M"}, {1e3, " k"}};
	double size = fabs(value);

	if (size == 0) {
		snprintf(out, SCALE_TEXT_BYTES, "0");
		return;
	}
	if (size >= 1e15 || (size < 1e-3 && !(step >= 1e-4))) {
		write_exponent(value, step, out);
		return;
	}
	for (size_t i = 0; i < sizeof units / sizeof *units && size >= 1e4; i++)
		if (size >= units[i].factor) {
			char digits[SCALE_TEXT_BYTES - 2];
			snprintf(digits, sizeof digits, "%.*f", step > 0 ? digits_of(step / units[i].factor, 6) : 3,
				value / units[i].factor);
			if (!(step > 0))
				trim_zeros(digits);
			snprintf(out, SCALE_TEXT_BYTES, "%s%s", digits, units[i].unit);
			return;
		}
	if (step > 0)
		snprintf(out, SCALE_TEXT_BYTES, "%.*f", digits_of(step, 6), value);
	else
		snprintf(out, SCALE_TEXT_BYTES, "%.4g", value);
}

/* 41200 -> "41,200" */
static void write_step(double step, char out[SCALE_TEXT_BYTES])
{
	char digits[SCALE_TEXT_BYTES / 2 + 4];
	size_t len, at = 0;

	if (fabs(step) >= 1e7 || step != floor(step)) {
		scale_text_value(step, 0, out);
		return;
	}
	len = (size_t)snprintf(digits, sizeof digits, "%.0f", fabs(step));
	if (step < 0)
		out[at++] = '-';
	for (size_t i = 0; i < len; i++) {
		out[at++] = digits[i];
		if ((len - i - 1) % 3 == 0 && i + 1 < len)
			out[at++] = ',';
	}
	out[at] = 0;
}

static void write_duration(double ms, char out[SCALE_TEXT_BYTES])
{
	double total = floor(fabs(ms) / SECOND_MS);
	const char *sign = ms < 0 ? "-" : "";
	double days = floor(total / 86400), hours = fmod(floor(total / 3600), 24),
	       minutes = fmod(floor(total / 60), 60);

	if (days > 0 && hours > 0)
		snprintf(out, SCALE_TEXT_BYTES, "%s%.0f d %.0f h", sign, days, hours);
	else if (days > 0)
		snprintf(out, SCALE_TEXT_BYTES, "%s%.0f d", sign, days);
	else if (hours > 0 && minutes > 0)
		snprintf(out, SCALE_TEXT_BYTES, "%s%.0f h %.0f min", sign, hours, minutes);
	else if (hours > 0)
		snprintf(out, SCALE_TEXT_BYTES, "%s%.0f h", sign, hours);
	else if (minutes > 0)
		snprintf(out, SCALE_TEXT_BYTES, "%s%.0f min", sign, minutes);
	else
		snprintf(out, SCALE_TEXT_BYTES, "%s%.0f s", sign, total);
}

/* The clock, and the day where a new one begins. */
static void write_time(double ms, double step, char out[SCALE_TEXT_BYTES])
{
	time_t seconds = (time_t)fmin(fmax(floor(ms / SECOND_MS), -6e10), 2.5e11);
	struct tm t;

	if (!gmtime_r(&seconds, &t)) {
		snprintf(out, SCALE_TEXT_BYTES, "?");
		return;
	}
	bool is_day = step >= DAY_MS || (!t.tm_hour && !t.tm_min && !t.tm_sec);
	if (!strftime(out, SCALE_TEXT_BYTES, is_day ? "%m-%d" : step >= MINUTE_MS ? "%H:%M" : "%H:%M:%S", &t))
		out[0] = 0;
}

void scale_text_x(enum chart_axis axis, double x, double step, char out[SCALE_TEXT_BYTES])
{
	if (axis == AXIS_TIME)
		write_time(x, step, out);
	else if (axis == AXIS_RELATIVE)
		write_duration(x, out);
	else if (axis == AXIS_FLOPS)
		scale_text_value(x, step, out);
	else
		write_step(x, out);
}
