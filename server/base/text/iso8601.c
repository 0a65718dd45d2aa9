#include "base/text/iso8601.h"

#include <stdio.h>

enum { DAY_SECONDS = 86400 };

/* Years start in March here, so that the leap day is the last one and months have lengths by a formula. */
int64_t iso8601_days(int64_t year, unsigned month, unsigned day)
{
	year -= month <= 2;
	int64_t era = (year >= 0 ? year : year - 399) / 400;
	unsigned year_of_era = (unsigned)(year - era * 400);
	unsigned day_of_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;
	unsigned day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;

	return era * 146097 + (int64_t)day_of_era - 719468;
}

/* Exactly `count` digits. */
static bool take_digits(struct span *s, unsigned count, unsigned *value)
{
	unsigned sum = 0;

	if (s->len < count)
		return false;
	for (unsigned i = 0; i < count; i++) {
		unsigned digit = (unsigned)(s->ptr[i] - '0');
		if (digit > 9)
			return false;
		sum = sum * 10 + digit;
	}
	*s = span_skip(*s, count);
	*value = sum;
	return true;
}

static bool take_char(struct span *s, char c)
{
	if (!s->len || s->ptr[0] != c)
		return false;
	*s = span_skip(*s, 1);
	return true;
}

static bool take_date(struct span *s, int64_t *days)
{
	static const unsigned char lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
	unsigned year, month, day;

	if (!take_digits(s, 4, &year) || !take_char(s, '-') || !take_digits(s, 2, &month) || !take_char(s, '-') ||
		!take_digits(s, 2, &day) || month < 1 || month > 12)
		return false;
	bool is_leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
	if (day < 1 || day > lengths[month - 1] + (unsigned)(month == 2 && is_leap))
		return false;
	*days = iso8601_days(year, month, day);
	return true;
}

static bool take_fraction(struct span *s, unsigned *ms)
{
	unsigned scale = 100, digit, sum = 0;

	if (!take_digits(s, 1, &digit))
		return false;
	do {
		sum += digit * scale;
		scale /= 10;
	} while (take_digits(s, 1, &digit));
	*ms = sum;
	return true;
}

static bool take_clock(struct span *s, int64_t *day_ms)
{
	unsigned hour, minute, second = 0, ms = 0;

	if (!take_digits(s, 2, &hour) || !take_char(s, ':') || !take_digits(s, 2, &minute))
		return false;
	if (take_char(s, ':')) {
		if (!take_digits(s, 2, &second))
			return false;
		if ((take_char(s, '.') || take_char(s, ',')) && !take_fraction(s, &ms))
			return false;
	}
	*day_ms = ((int64_t)hour * 3600 + minute * 60 + second) * 1000 + ms;
	return hour < 24 && minute < 60 && second <= 60; /* 60: a leap second */
}

static bool take_offset(struct span *s, int64_t *offset_ms)
{
	unsigned hour, minute = 0;

	*offset_ms = 0;
	take_char(s, ' ');
	if (s->len == 0 || take_char(s, 'Z') || take_char(s, 'z'))
		return true;
	bool is_west = s->ptr[0] == '-';
	if ((!take_char(s, '+') && !take_char(s, '-')) || !take_digits(s, 2, &hour))
		return false;
	bool has_colon = take_char(s, ':');
	if ((has_colon || s->len) && !take_digits(s, 2, &minute))
		return false;
	*offset_ms = ((int64_t)hour * 60 + minute) * (is_west ? -60000 : 60000);
	return hour < 24 && minute < 60;
}

bool iso8601_parse(struct span text, int64_t *unix_ms)
{
	struct span s = text;
	int64_t days, day_ms = 0, offset_ms = 0;

	if (!take_date(&s, &days))
		return false;
	if (s.len) {
		if (!take_char(&s, 'T') && !take_char(&s, 't') && !take_char(&s, ' '))
			return false;
		if (!take_clock(&s, &day_ms) || !take_offset(&s, &offset_ms) || s.len)
			return false;
	}
	*unix_ms = days * DAY_SECONDS * 1000 + day_ms - offset_ms;
	return true;
}

void iso8601_format(int64_t unix_ms, char out[ISO8601_BYTES])
{
	const int64_t first = iso8601_days(0, 1, 1) * DAY_SECONDS * 1000;
	const int64_t last = iso8601_days(10000, 1, 1) * DAY_SECONDS * 1000 - 1;
	int64_t ms = unix_ms < first ? first : unix_ms > last ? last : unix_ms;
	int64_t day_ms = ms % (DAY_SECONDS * 1000);
	if (day_ms < 0)
		day_ms += DAY_SECONDS * 1000;
	/* The inverse of iso8601_days, days counted from 0000-03-01; + one era keeps everything positive. */
	unsigned days = (unsigned)((ms - day_ms) / (DAY_SECONDS * 1000) + 719468 + 146097);
	unsigned era = days / 146097, day_of_era = days % 146097;
	unsigned year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
	unsigned day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
	unsigned shifted = (5 * day_of_year + 2) / 153;
	unsigned month = shifted < 10 ? shifted + 3 : shifted - 9;
	unsigned year = year_of_era + era * 400 + (month <= 2) - 400;
	unsigned second = (unsigned)(day_ms / 1000);

	snprintf(out, ISO8601_BYTES, "%04u-%02u-%02uT%02u:%02u:%02u.%03uZ", year % 10000, month,
		(day_of_year - (153 * shifted + 2) / 5 + 1) % 100, second / 3600 % 100, second / 60 % 60, second % 60,
		(unsigned)(day_ms % 1000));
}
