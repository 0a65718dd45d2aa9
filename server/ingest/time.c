#include "ingest/ingest.h"

#include "base/text/iso8601.h"

#include <math.h>

/* 1990-01-01 and 2200-01-01: what is outside is no log time but a counter, a duration or a mistake. */
static const int64_t EARLIEST_MS = 631152000000, LATEST_MS = 7258118400000;

/* Digits, perhaps a fraction: exact, which a double of nanoseconds is not. The fraction is of `whole`'s unit, in 1e-9. */
static bool parse_decimal(struct span text, int64_t *whole, int64_t *billionths)
{
	ptrdiff_t point = span_find_char(text, '.');
	struct span digits = point < 0 ? text : span_of(text.ptr, (size_t)point);
	struct span fraction = point < 0 ? SPAN("") : span_skip(text, (size_t)point + 1);
	int64_t scale = 100000000;

	if (!span_parse_i64(digits, whole) || *whole < 0)
		return false;
	*billionths = 0;
	for (size_t i = 0; i < fraction.len; i++, scale /= 10) {
		if (fraction.ptr[i] < '0' || fraction.ptr[i] > '9')
			return false;
		*billionths += (fraction.ptr[i] - '0') * scale;
	}
	return true;
}

/* Seconds end at 1e11 (the year 5138), so every unit's range of years is far from its neighbours'. */
static int64_t to_ms(int64_t whole, int64_t billionths)
{
	if (whole < 100000000000)
		return whole * 1000 + billionths / 1000000;
	if (whole < 100000000000000)
		return whole;
	if (whole < 100000000000000000)
		return whole / 1000;
	return whole / 1000000;
}

bool ingest_parse_time(struct span text, int64_t *ts_ms)
{
	struct span trimmed = span_trim(text);
	int64_t whole, billionths, ms;
	double number;

	if (parse_decimal(trimmed, &whole, &billionths))
		ms = to_ms(whole, billionths);
	else if (iso8601_parse(trimmed, &ms))
		;
	else if (span_parse_double(trimmed, &number) && number >= 0 && number < 9.2e18) /* 1.7e9 */
		ms = number < 1e11 ? (int64_t)(number * 1000) : to_ms((int64_t)number, 0);
	else
		return false;
	if (ms < EARLIEST_MS || ms >= LATEST_MS)
		return false;
	*ts_ms = ms;
	return true;
}

bool ingest_time_ns(uint64_t ns, int64_t *ts_ms)
{
	int64_t ms = (int64_t)(ns / 1000000);

	if (ms < EARLIEST_MS || ms >= LATEST_MS)
		return false;
	*ts_ms = ms;
	return true;
}
