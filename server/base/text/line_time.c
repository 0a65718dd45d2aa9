/*
 * Timestamps at the start of log lines. Almost no line of a busy stream has one, so the search is for what is rare: two
 * colons three apart with digits around them (hh:mm:ss); the date is looked for in front of it only then.
 */
#include "base/text/line_time.h"

#include "base/text/iso8601.h"

#include <string.h>

enum { SEARCHED_BYTES = 64, POD_BYTES = 256, RECORD_END_BYTES = 256 };

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

/* What Z, +hh:mm, +hhmm or +hh (perhaps behind a space) stands for; zone_ms when there is none. */
static int64_t offset_ms(struct span rest, int64_t zone_ms)
{
	int hours, minutes = 0;
	bool is_apart = rest.len && rest.ptr[0] == ' ';

	if (is_apart)
		rest = span_skip(rest, 1);
	if ((!is_apart && rest.len && rest.ptr[0] == 'Z') || span_starts_with(rest, SPAN("UTC")) ||
		span_starts_with(rest, SPAN("GMT")))
		return 0;
	if (rest.len < 3 || (rest.ptr[0] != '+' && rest.ptr[0] != '-') || !two_digits(rest.ptr + 1, &hours) ||
		hours > 14)
		return zone_ms;
	size_t at = rest.len > 3 && rest.ptr[3] == ':' ? 4 : 3;
	bool has_minutes = rest.len >= at + 2 && two_digits(rest.ptr + at, &minutes) && minutes < 60;
	if (is_apart && !has_minutes)
		return zone_ms;
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

/* A date without a year is the last one that is not later than a day after the arrival. */
static bool resolve_year(int month, int day, int64_t arrival_ms, int64_t *ms)
{
	int year = (int)(1970 + arrival_ms / DAY_MS * 400 / 146097);

	for (int back = 0; back <= 8; back++) /* eight: a 29 February around 2100 */
		if (date_ms(year + 1 - back, month, day, ms) && *ms <= arrival_ms + DAY_MS)
			return true;
	return false;
}

/* [01/23 17:57:13], the form of detectron2. */
static bool bracket_date(struct span before, int *month, int *day)
{
	return before.len >= 6 && before.ptr[before.len - 6] == '[' && before.ptr[before.len - 3] == '/' &&
	       two_digits(before.ptr + before.len - 5, month) && two_digits(before.ptr + before.len - 2, day);
}

static bool is_letter(char c)
{
	return (unsigned char)((c | 0x20) - 'a') < 26;
}

/* [06/25/24 12:34:56] of rich, and I20240625 12:34:56 of glog with the year. */
static bool year_date(struct span before, int *year, int *month, int *day)
{
	const char *at = before.ptr + before.len - 9;
	int century;

	if (before.len < 9)
		return false;
	if (at[0] == '[' && at[3] == '/' && at[6] == '/' && two_digits(at + 1, month) && two_digits(at + 4, day) &&
		two_digits(at + 7, year)) {
		*year += 2000;
		return true;
	}
	if (!strchr("IWEF", at[0]) || (before.len > 9 && (is_letter(at[-1]) || is_digit(at[-1]))) ||
		!two_digits(at + 1, &century) || !two_digits(at + 3, year) || !two_digits(at + 5, month) ||
		!two_digits(at + 7, day))
		return false;
	*year += century * 100;
	return true;
}

/* INFO 06-25 12:34:56, of vLLM. */
static bool dash_date(struct span before, int *month, int *day)
{
	const char *at = before.ptr + before.len - 5;
	size_t letters = 0;

	if (before.len < 10 || at[-1] != ' ' || at[2] != '-' || !two_digits(at, month) || !two_digits(at + 3, day))
		return false;
	while (letters + 7 <= before.len && (unsigned char)(at[-2 - (ptrdiff_t)letters] - 'A') < 26)
		letters++;
	return letters >= 4;
}

/* W0703 09:00:00.123456, of glog, absl and torchelastic; [W703 09:00:00.123456789 of PyTorch's C++ has no leading zero. */
static bool level_date(struct span before, int *month, int *day)
{
	size_t digits = 0;

	while (digits < before.len && is_digit(before.ptr[before.len - 1 - digits]))
		digits++;
	if ((digits != 3 && digits != 4) || digits == before.len)
		return false;
	const char *level = before.ptr + before.len - 1 - digits;
	if (!strchr("IWEFD", *level) || (level > before.ptr && (is_letter(level[-1]) || is_digit(level[-1]))))
		return false;
	*month = digits == 3 ? level[1] - '0' : (level[1] - '0') * 10 + level[2] - '0';
	return two_digits(before.ptr + before.len - 2, day);
}

/* May  1 12:00:00 of syslog, Wed May  1 12:00:00 of ctime. */
static bool named_date(struct span before, int *month, int *day)
{
	static const char names[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
	const char *at;

	if (before.len < 6)
		return false;
	at = before.ptr + before.len - 6;
	if (at[3] != ' ' || !is_digit(at[5]) || (at[4] != ' ' && !is_digit(at[4])) ||
		(before.len > 6 && is_letter(at[-1])))
		return false;
	*day = (at[4] == ' ' ? 0 : at[4] - '0') * 10 + at[5] - '0';
	for (*month = 1; *month <= 12; ++*month)
		if (memcmp(names + 3 * (*month - 1), at, 3) == 0)
			return true;
	return false;
}

/* Behind the time, as ctime has it: " 2024", and of date's " UTC 2024". */
static int year_behind(struct span rest)
{
	int century, year;

	if (rest.len > 4 && rest.ptr[0] == ' ' &&
		(memcmp(rest.ptr + 1, "UTC", 3) == 0 || memcmp(rest.ptr + 1, "GMT", 3) == 0))
		rest = span_skip(rest, 4);
	if (rest.len < 5 || rest.ptr[0] != ' ' || !two_digits(rest.ptr + 1, &century) ||
		!two_digits(rest.ptr + 3, &year) || (rest.len > 5 && is_digit(rest.ptr[5])) || century < 19 ||
		century > 21)
		return 0;
	return century * 100 + year;
}

static bool short_date(struct span before, struct span rest, int64_t arrival_ms, int64_t *ms)
{
	int month = 0, day = 0, year = 0;

	if (named_date(before, &month, &day))
		year = year_behind(rest);
	else if (!year_date(before, &year, &month, &day) && !dash_date(before, &month, &day) &&
		 !bracket_date(before, &month, &day) && !level_date(before, &month, &day))
		return false;
	if (year)
		return date_ms(year, month, day, ms);
	return arrival_ms >= 0 && arrival_ms <= LAST_MS && resolve_year(month, day, arrival_ms, ms);
}

static bool is_plausible(int64_t ms, int64_t arrival_ms)
{
	return ms >= FIRST_MS && ms < LAST_MS && (arrival_ms >= LAST_MS || ms <= arrival_ms + DAY_MS);
}

/*
 * 1714564800.123 or 1714564800123 at the line's start, perhaps in a bracket: seconds with a fraction or milliseconds, since a
 * bare number of ten digits is a counter as often as a time; of the twenty years before the arrival.
 */
static bool epoch_at(struct span text, int64_t arrival_ms, int64_t *ts_ms)
{
	struct span rest = text;
	int64_t value = 0, ms;

	for (; rest.len && is_digit(rest.ptr[0]) && value < INT64_C(100000000000000); rest = span_skip(rest, 1))
		value = value * 10 + rest.ptr[0] - '0';
	size_t digits = text.len - rest.len;
	if (digits == 13) {
		ms = value;
	} else if (digits == 10 && rest.len > 1 && rest.ptr[0] == '.' && is_digit(rest.ptr[1])) {
		ms = value * SECOND_MS;
		ms += take_fraction(&rest);
	} else {
		return false;
	}
	if (rest.len && (is_digit(rest.ptr[0]) || is_letter(rest.ptr[0]) || rest.ptr[0] == '.'))
		return false;
	if (!is_plausible(ms, arrival_ms) || ms + 7305 * DAY_MS < arrival_ms)
		return false;
	*ts_ms = ms;
	return true;
}

/* "time_ms": 1593152764468 of MLPerf's lines; colon is the one behind the key. */
static bool keyed_epoch(struct span text, size_t colon, int64_t arrival_ms, int64_t *ts_ms)
{
	static const char key[] = "\"time_ms\"";

	if (colon < sizeof key - 1 || memcmp(text.ptr + colon - (sizeof key - 1), key, sizeof key - 1) != 0)
		return false;
	struct span rest = span_skip(text, colon + 1);
	while (rest.len && rest.ptr[0] == ' ')
		rest = span_skip(rest, 1);
	return epoch_at(rest, arrival_ms, ts_ms);
}

/* Tue 2024-06-25 12:34:56 CEST of journalctl -o short-full: nobody knows all the names of zones. */
static bool has_other_zone(struct span before, struct span rest)
{
	const char *day = before.ptr + before.len - 14;

	return before.len >= 14 && day[3] == ' ' && is_letter(day[0]) && is_letter(day[1]) && is_letter(day[2]) &&
	       rest.len > 3 && rest.ptr[0] == ' ' && (unsigned char)(rest.ptr[1] - 'A') < 26 &&
	       memcmp(rest.ptr + 1, "UTC", 3) != 0 && memcmp(rest.ptr + 1, "GMT", 3) != 0;
}

/* text holds hh:mm:ss at `at`. */
static bool parse_at(struct span text, size_t at, int64_t arrival_ms, int64_t zone_ms, int64_t *ts_ms)
{
	struct span rest = span_skip(text, at + 8), before = span_of(text.ptr, at - 1);
	int hour, minute, second;
	int64_t day;

	if (!two_digits(text.ptr + at, &hour) || !two_digits(text.ptr + at + 3, &minute) ||
		!two_digits(text.ptr + at + 6, &second) || hour > 23 || minute > 59 || second > 60)
		return false;
	bool is_full = full_date(before, &day);
	if (is_full ? has_other_zone(before, rest) : !short_date(before, rest, arrival_ms, &day))
		return false;
	int64_t ms = day + ((hour * 60 + minute) * 60 + second) * SECOND_MS + take_fraction(&rest);
	ms -= offset_ms(rest, zone_ms);
	if (!is_plausible(ms, arrival_ms))
		return false;
	*ts_ms = ms;
	return true;
}

/* What a collector or a logger says in a record: "time":"2024-06-25T12:34:56.123Z", "ts":1719318896.123. */
static bool record_time(struct span text, int64_t arrival_ms, int64_t zone_ms, int64_t *ts_ms)
{
	static const struct span keys[] = {SPAN("\"time\":"), SPAN("\"timestamp\":"), SPAN("\"@timestamp\":"),
		SPAN("\"asctime\":"), SPAN("\"ts\":")};
	struct span front = span_of(text.ptr, text.len < RECORD_END_BYTES ? text.len : RECORD_END_BYTES);
	struct span back = span_skip(text, text.len - front.len);

	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
		struct span in = front;
		ptrdiff_t at = span_find(in, keys[i]);
		if (at < 0)
			at = span_find(in = back, keys[i]);
		struct span value = at < 0 ? SPAN("") : span_skip(in, (size_t)at + keys[i].len);
		while (value.len && value.ptr[0] == ' ')
			value = span_skip(value, 1);
		if (value.len && is_digit(value.ptr[0]) && epoch_at(value, arrival_ms, ts_ms))
			return true;
		if (value.len < 22 || value.ptr[0] != '"')
			continue;
		value = span_skip(value, 1);
		if (value.ptr[13] == ':' && value.ptr[16] == ':' && (value.ptr[10] == 'T' || value.ptr[10] == ' ') &&
			parse_at(value, 11, arrival_ms, zone_ms, ts_ms))
			return true;
	}
	return false;
}

/* [pod/NAME/CONTAINER] of kubectl may be longer than what is searched. */
static struct span behind_pod(struct span text)
{
	ptrdiff_t end = span_find(span_of(text.ptr, text.len < POD_BYTES ? text.len : POD_BYTES), SPAN("] "));

	return end < 0 ? text : span_skip(text, (size_t)end + 2);
}

bool line_time_parse_in(struct span text, int64_t arrival_ms, int64_t zone_ms, int64_t *ts_ms)
{
	if (text.len && text.ptr[0] == '{' && record_time(text, arrival_ms, zone_ms, ts_ms))
		return true;
	if (text.len > 5 && text.ptr[0] == '[' && text.ptr[1] == 'p' && span_starts_with(text, SPAN("[pod/")))
		text = behind_pod(text);
	size_t limit = text.len < SEARCHED_BYTES ? text.len : SEARCHED_BYTES;

	if (text.len >= 13 && (text.ptr[0] == '1' || (text.ptr[0] == '[' && text.ptr[1] == '1')) &&
		epoch_at(span_skip(text, text.ptr[0] == '['), arrival_ms, ts_ms))
		return true;
	/* The shortest form, "W703 17:57:13", has its first colon at 7. */
	for (size_t from = 7; from + 5 < limit;) {
		const char *colon = memchr(text.ptr + from, ':', limit - from - 5);
		if (!colon)
			return false;
		size_t at = (size_t)(colon - text.ptr);
		if (colon[3] == ':' && at + 6 <= text.len && is_digit(colon[-1]) && is_digit(colon[-2]) &&
			(colon[-3] == ' ' || colon[-3] == 'T' || colon[-3] == '\t' || colon[-3] == ',') &&
			parse_at(text, at - 2, arrival_ms, zone_ms, ts_ms))
			return true;
		if (colon[-1] == '"' && keyed_epoch(text, at, arrival_ms, ts_ms))
			return true;
		from = at + 1;
	}
	return false;
}

bool line_time_parse(struct span text, int64_t arrival_ms, int64_t *ts_ms)
{
	return line_time_parse_in(text, arrival_ms, 0, ts_ms);
}
