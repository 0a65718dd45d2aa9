#include "extract/line/number.h"

#include <math.h>

enum { GROUPED_MAX_BYTES = 64 };

#define MICRO "\xc2\xb5" /* the sign, and the Greek letter that looks like it */
#define MU "\xce\xbc"
#define WHOLE_MAX 0x1p53 /* doubles hold every integer below it */
#define POWER_MAX 1e22 /* and every power of ten up to it */

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Without its separators into out; 0 when the commas are not in places where thousands have them: "0,040" is 0.04 to some. */
static size_t ungrouped(struct span text, char out[GROUPED_MAX_BYTES])
{
	size_t len = 0, digits = 0;
	bool is_grouped = false, is_fraction = false;

	if (text.len > GROUPED_MAX_BYTES)
		return 0;
	for (size_t i = 0; i < text.len; i++) {
		char c = text.ptr[i];
		if (c == ',') {
			bool is_zero = !is_grouped && digits && text.ptr[i - digits] == '0';
			if (is_fraction || digits == 0 || digits > 3 || (is_grouped && digits != 3) || is_zero)
				return 0;
			is_grouped = true;
			digits = 0;
			continue;
		}
		if (!is_fraction && is_digit(c)) {
			digits++;
		} else if (!is_fraction && digits > 0) {
			if (is_grouped && digits != 3)
				return 0;
			is_fraction = true;
		}
		out[len++] = c;
	}
	return is_grouped && (is_fraction || digits == 3) ? len : 0;
}

bool number_parse(struct span text, double *value)
{
	char plain[GROUPED_MAX_BYTES];

	if (span_parse_double(text, value))
		return true;
	text = span_trim(text);
	if (span_parse_double(text, value))
		return true;
	if (span_find_char(text, ',') < 0)
		return false;
	size_t len = ungrouped(text, plain);
	return len > 0 && span_parse_double(span_of(plain, len), value);
}

struct span number_whole(struct span text, struct span captured)
{
	const char *end = captured.ptr + captured.len;
	size_t left = (size_t)(text.ptr + text.len - end);
	double value;

	if (left < 2 || (end[0] != '#' && !(end[0] == '.' && end[1] == '#')))
		return captured;
	size_t len = span_scan_non_finite(span_of(captured.ptr, captured.len + left), &value);
	return len > captured.len ? span_of(captured.ptr, len) : captured;
}

/* Letters that stand for thousands; 0: none of them. */
static double thousands_of(struct span unit)
{
	static const struct span letters = SPAN("kKMGBTP");
	static const double factors[] = {1e3, 1e3, 1e6, 1e9, 1e9, 1e12, 1e15};
	ptrdiff_t at = unit.len == 1 ? span_find_char(letters, unit.ptr[0]) : -1;

	return at < 0 ? 0 : factors[at];
}

/* 1.2k 122.0K 3M */
static bool parse_thousands(struct span text, double *value)
{
	double factor = text.len > 1 ? thousands_of(span_of(text.ptr + text.len - 1, 1)) : 0;

	if (factor == 0 || !number_parse(span_of(text.ptr, text.len - 1), value))
		return false;
	*value = number_scale(*value, factor, 1);
	return true;
}

bool number_parse_step(struct span text, int64_t *step)
{
	double value;
	int64_t whole;

	text = span_trim(text);
	if (!span_parse_i64(text, &whole)) {
		if (parse_thousands(text, &value))
			value = round(value); /* 1.23k of a bar */
		else if (!number_parse(text, &value))
			return false;
		if (!(fabs(value) <= (double)STEP_MAX) || value != floor(value))
			return false;
		whole = (int64_t)value;
	}
	if (whole > STEP_MAX || whole < -STEP_MAX)
		return false;
	*step = whole;
	return true;
}

double unit_seconds(struct span unit)
{
	static const struct {
		struct span name;
		double seconds;
	} units[] = {{SPAN("s"), 1}, {SPAN("ms"), 1e-3}, {SPAN("us"), 1e-6}, {SPAN("ns"), 1e-9}, {SPAN("sec"), 1},
		{SPAN("secs"), 1}, {SPAN("seconds"), 1}, {SPAN("m"), 60}, {SPAN("min"), 60}, {SPAN("h"), 3600},
		{SPAN("d"), 86400}, {SPAN(MICRO "s"), 1e-6}, {SPAN(MU "s"), 1e-6}};

	for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
		if (span_equal(unit, units[i].name))
			return units[i].seconds;
	return 0;
}

size_t number_micro_length(struct span text)
{
	return span_starts_with(text, SPAN(MICRO)) || span_starts_with(text, SPAN(MU)) ? sizeof MICRO - 1 : 0;
}

double number_scale(double value, double by, double over)
{
	static const double places[] = {1e3, 1e6, 1e9, 1e12, 1e15};

	for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
		double whole = round(value * places[i]);
		if (fabs(whole) * by >= WHOLE_MAX || over * places[i] > POWER_MAX)
			break;
		if (whole / places[i] == value)
			return whole * by / (places[i] * over);
	}
	return value * by / over;
}

double number_convert(double value, double from_s, double to_s)
{
	return from_s == to_s ? value
			      : number_scale(value, fmax(round(from_s / to_s), 1), fmax(round(to_s / from_s), 1));
}

double number_in_unit(double value, struct span unit, double unit_s)
{
	double seconds = unit_s > 0 ? unit_seconds(unit) : 0, thousands = thousands_of(unit);

	if (seconds > 0)
		return number_convert(value, seconds, unit_s);
	return thousands > 0 ? number_scale(value, thousands, 1) : value;
}

static bool is_unit_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static size_t unit_length(struct span text)
{
	size_t len = number_micro_length(text);

	while (len < text.len && is_unit_letter(text.ptr[len]))
		len++;
	return len;
}

/* "5 m" and "3 d" may be metres and a count of anything; "5m", "1 h 2 m" and "5 min" are times. */
static bool is_doubtful(struct span text, size_t number_len)
{
	return text.len == number_len + 1 && number_len && text.ptr[number_len - 1] == ' ' &&
	       (text.ptr[number_len] == 'm' || text.ptr[number_len] == 'd');
}

/* "-350ms", "0.35 s", "1,200 ms", "3.5e-2s": one number in front of a unit. In units of unit_s seconds. */
static bool parse_measure(struct span text, double unit_s, double *value)
{
	size_t end = text.len;

	while (end && is_unit_letter(text.ptr[end - 1]))
		end--;
	if (end >= sizeof MICRO - 1 && number_micro_length(span_skip(text, end - (sizeof MICRO - 1))))
		end -= sizeof MICRO - 1;
	double seconds = unit_seconds(span_skip(text, end));
	if (seconds == 0 || is_doubtful(text, end) || !number_parse(span_of(text.ptr, end), value))
		return false;
	*value = number_convert(*value, seconds, unit_s);
	return true;
}

/* "1h02m", "8m 56s", "1 h 2 min": a number and a unit, again and again. In units of unit_s seconds. */
static bool parse_units(struct span text, double unit_s, double *out)
{
	*out = 0;
	while (text.len) {
		size_t digits = 0;
		double value;
		while (digits < text.len && (is_digit(text.ptr[digits]) || text.ptr[digits] == '.'))
			digits++;
		struct span behind = span_skip(text, digits);
		while (behind.len && behind.ptr[0] == ' ')
			behind = span_skip(behind, 1);
		size_t letters = unit_length(behind);
		double unit = unit_seconds(span_of(behind.ptr, letters));
		if (digits == 0 || unit == 0 || is_doubtful(text, (size_t)(behind.ptr - text.ptr)) ||
			!span_parse_double(span_of(text.ptr, digits), &value))
			return false;
		*out += number_convert(value, unit, unit_s);
		text = span_trim(span_skip(behind, letters));
	}
	return true;
}

/* 31:30, 0:31:30 */
static bool parse_clock(struct span text, double *seconds)
{
	struct span rest = text, part;
	int parts = 0;

	*seconds = 0;
	while (span_next(&rest, ':', &part)) {
		double value;
		if (part.len == 0 || !is_digit(part.ptr[0]) || !span_parse_double(part, &value) || ++parts > 3 ||
			(parts > 1 && value >= 60))
			return false;
		*seconds = *seconds * 60 + value;
	}
	return parts >= 2;
}

static struct span unquoted(struct span text)
{
	text = span_trim(text);
	if (text.len >= 2 && (text.ptr[0] == '"' || text.ptr[0] == '\'') && text.ptr[text.len - 1] == text.ptr[0])
		return span_trim(span_of(text.ptr + 1, text.len - 2));
	return text;
}

static bool parse_duration(struct span text, double unit_s, double *value)
{
	bool has_sign = text.len > 1 && (text.ptr[0] == '-' || text.ptr[0] == '+');
	struct span amount = span_skip(text, has_sign);
	double seconds;

	if (parse_measure(text, unit_s, value))
		return true;
	if (parse_clock(amount, &seconds))
		*value = number_convert(seconds, 1, unit_s);
	else if (!parse_units(amount, unit_s, value))
		return false;
	*value = text.ptr[0] == '-' ? -*value : *value;
	return true;
}

bool number_parse_value(struct span text, double unit_s, double *value)
{
	if (number_parse(text, value))
		return true;
	text = unquoted(text);
	if (text.len < 2)
		return text.len == 1 && number_parse(text, value);
	if (text.ptr[text.len - 1] == '%')
		return number_parse(span_of(text.ptr, text.len - 1), value);
	return parse_thousands(text, value) || parse_duration(text, unit_s > 0 ? unit_s : 1, value) ||
	       number_parse(text, value);
}

bool number_is_duration(struct span text)
{
	double value;

	text = unquoted(text);
	bool may_be = text.len > 1 && (!is_digit(text.ptr[text.len - 1]) || span_find_char(text, ':') >= 0);
	return may_be && !number_parse(text, &value) && !parse_thousands(text, &value) &&
	       parse_duration(text, 1, &value);
}
