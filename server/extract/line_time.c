/*
 * Timestamps at the start of log lines. Almost no line of a busy stream has one, so the search is for what is rare: two
 * colons three apart with digits around them (hh:mm:ss); the date is looked for in front of it only then.
 */
#include "base/iso8601.h"
#include "extract/extract.h"
#include "model/batch.h"

enum { SEARCHED_BYTES = 64 };

#define SECOND_MS INT64_C(1000)
#define DAY_MS (86400 * SECOND_MS)
#define FIRST_MS (7305 * DAY_MS) /* 1990-01-01 */
#define LAST_MS (84006 * DAY_MS) /* 2200-01-01 */

static bool is_digit(char c)
{
	return (unsigned char)(c - '0') < 10;
}

static bool two_digits(const char *at, int *value)
{
	*value = (at[0] - '0') * 10 + at[1] - '0';
	return is_digit(at[0]) && is_digit(at[1]);
}

/* The milliseconds of a fraction at the front of *rest, which is skipped. */
static int64_t take_fraction(struct span *rest)
{
	int64_t ms = 0, unit = 100;

	if (rest->len < 2 || (rest->ptr[0] != '.' && rest->ptr[0] != ',') || !is_digit(rest->ptr[1]))
		return 0;
	*rest = span_skip(*rest, 1);
	for (; rest->len && is_digit(rest->ptr[0]); *rest = span_skip(*rest, 1)) {
		ms += unit * (rest->ptr[0] - '0');
		unit /= 10;
	}
	return ms;
}

/* What +hh:mm, +hhmm or +hh (perhaps behind a space) stands for; 0 when there is none. */
static int64_t offset_ms(struct span rest)
{
	int hours, minutes = 0;
	bool is_apart = rest.len && rest.ptr[0] == ' ';

	if (is_apart)
		rest = span_skip(rest, 1);
	if (rest.len < 3 || (rest.ptr[0] != '+' && rest.ptr[0] != '-') || !two_digits(rest.ptr + 1, &hours) ||
		hours > 14)
		return 0;
	size_t at = rest.len > 3 && rest.ptr[3] == ':' ? 4 : 3;
	bool has_minutes = rest.len >= at + 2 && two_digits(rest.ptr + at, &minutes) && minutes < 60;
	if (is_apart && !has_minutes)
		return 0;
	int64_t ms = (hours * 60 + (has_minutes ? minutes : 0)) * 60 * SECOND_MS;
	return rest.ptr[0] == '-' ? -ms : ms;
}

static bool date_ms(int year, int month, int day, int64_t *ms)
{
	static const unsigned char lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};

	if (month < 1 || month > 12 || day < 1)
		return false;
	bool is_leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
	if (day > lengths[month - 1] + (month == 2 && is_leap))
		return false;
	*ms = iso8601_days(year, (unsigned)month, (unsigned)day) * DAY_MS;
	return true;
}

/* 2025-01-02, 2025/01/02 or 01/02/2025, ending where `before` ends. */
static bool full_date(struct span before, int64_t *ms)
{
	const char *at = before.ptr + before.len - 10;
	int century, year, month, day;

	if (before.len < 10 || (before.len > 10 && is_digit(at[-1])))
		return false;
	if (at[4] == at[7] && (at[4] == '-' || at[4] == '/') && two_digits(at, &century) && two_digits(at + 2, &year) &&
		two_digits(at + 5, &month) && two_digits(at + 8, &day))
		return date_ms(century * 100 + year, month, day, ms);
	if (at[2] == '/' && at[5] == '/' && two_digits(at, &month) && two_digits(at + 3, &day) &&
		two_digits(at + 6, &century) && two_digits(at + 8, &year))
		return date_ms(century * 100 + year, month, day, ms);
	return false;
}

/* [01/23 17:57:13], the form of detectron2: the year is that of the arrival, or the one before. */
static bool short_date(struct span before, int64_t arrival_ms, int64_t *ms)
{
	int month, day;
	int64_t day_number = arrival_ms / DAY_MS;
	int year = (int)(1970 + day_number * 400 / 146097);

	if (before.len < 6 || before.ptr[before.len - 6] != '[' || before.ptr[before.len - 3] != '/' ||
		arrival_ms < 0 || arrival_ms > LAST_MS || !two_digits(before.ptr + before.len - 5, &month) ||
		!two_digits(before.ptr + before.len - 2, &day))
		return false;
	for (int back = 0; back <= 2; back++)
		if (date_ms(year + 1 - back, month, day, ms) && *ms <= arrival_ms + DAY_MS)
			return true;
	return false;
}

/* text holds hh:mm:ss at `at`. */
static bool parse_at(struct span text, size_t at, int64_t arrival_ms, int64_t *ts_ms)
{
	struct span rest = span_skip(text, at + 8), before = span_of(text.ptr, at - 1);
	int hour, minute, second;
	int64_t day;

	if (!two_digits(text.ptr + at, &hour) || !two_digits(text.ptr + at + 3, &minute) ||
		!two_digits(text.ptr + at + 6, &second) || hour > 23 || minute > 59 || second > 60)
		return false;
	if (!full_date(before, &day) && !short_date(before, arrival_ms, &day))
		return false;
	int64_t ms = day + ((hour * 60 + minute) * 60 + second) * SECOND_MS + take_fraction(&rest);
	ms -= offset_ms(rest);
	if (ms < FIRST_MS || ms >= LAST_MS || (arrival_ms < LAST_MS && ms > arrival_ms + DAY_MS))
		return false;
	*ts_ms = ms;
	return true;
}

bool line_time_parse(struct span text, int64_t arrival_ms, int64_t *ts_ms)
{
	size_t limit = text.len < SEARCHED_BYTES ? text.len : SEARCHED_BYTES;

	/* The shortest form, "[01/23 17:57:13]", has its first colon at 9. */
	for (size_t from = 9; from + 5 < limit;) {
		const char *colon = memchr(text.ptr + from, ':', limit - from - 5);
		if (!colon)
			return false;
		size_t at = (size_t)(colon - text.ptr);
		if (colon[3] == ':' && at + 6 <= text.len && is_digit(colon[-1]) && is_digit(colon[-2]) &&
			(colon[-3] == ' ' || colon[-3] == 'T' || colon[-3] == '\t') &&
			parse_at(text, at - 2, arrival_ms, ts_ms))
			return true;
		from = at + 1;
	}
	return false;
}
