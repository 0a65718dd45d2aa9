/* The value that a match of a definition captures, and the unit that its text says. */
#include "extract/definition.h"
#include "extract/generic/words.h"
#include "extract/line/number.h"

static bool is_rate(struct span unit)
{
	enum unit_kind kind = unit_of(unit).kind;

	return kind >= UNIT_TOKENS_RATE && kind < UNIT_STEP_TIME;
}

/* "ktok/s" is thousands of "tok/s"; 1: it is no such unit. */
static double thousands_of_rate(struct span unit)
{
	double thousands = unit.len > 1 ? unit_thousands(span_of(unit.ptr, 1)) : 0;

	return thousands > 0 && is_rate(span_skip(unit, 1)) ? thousands : 1;
}

/* Series of times are compared and converted by the units that they have here. False: it is none; "m" and "d" may be something else. */
static bool take_time(struct span *unit, double *value)
{
	double seconds = span_equal(*unit, SPAN("m")) || span_equal(*unit, SPAN("d")) ? 0 : unit_seconds(*unit);

	if (seconds == 0)
		return false;
	double kept = seconds >= 1 ? 1 : seconds >= 1e-3 ? 1e-3 : 1e-6;
	*value = number_convert(*value, seconds, kept);
	*unit = kept == 1 ? SPAN("s") : kept == 1e-3 ? SPAN("ms") : SPAN("us");
	return true;
}

/* Of several values that one expression captures a unit is that of the one in front of it. */
static bool is_of_value(const struct definition *definition, struct span text, struct span unit)
{
	const char *end = text.ptr + text.len;

	return !definition->shares_regex ||
	       (unit.ptr >= end && span_trim(span_of(end, (size_t)(unit.ptr - end))).len == 0);
}

/* Of a definition that states its unit another one can't be converted: a time for a step is no time, steps a second are no tokens. */
static bool is_of_stated_unit(const struct definition *definition, struct span unit)
{
	struct span stated = definition->shown.unit;

	return definition->unit_s == 0 && (!stated.len || unit_of(unit).kind == unit_of(stated).kind);
}

/* "1.2 ktok/s", "3.5 it/s" in the value's own group. A time is read with its number. */
static bool split_rate(const struct definition *definition, struct span text, struct span *number, struct span *unit)
{
	ptrdiff_t blank = span_find_char(text, ' ');

	if (blank < 1)
		return false;
	*number = span_of(text.ptr, (size_t)blank);
	*unit = span_trim(span_skip(text, (size_t)blank));
	double thousands = thousands_of_rate(*unit);
	return span_find_char(*unit, ' ') < 0 && is_of_stated_unit(definition, span_skip(*unit, thousands > 1)) &&
	       (thousands > 1 || unit_of(*unit).kind >= UNIT_TOKENS_RATE);
}

static bool may_be_shown(struct span unit)
{
	for (size_t i = 0; i < unit.len; i++)
		if ((unsigned char)unit.ptr[i] < ' ' || unit.ptr[i] == 0x7f)
			return false;
	return unit.len <= METRIC_UNIT_MAX_BYTES && span_is_utf8(unit);
}

static void take_said(struct span said, double *value, struct span *unit)
{
	bool is_number = number_in_unit(1, said, 0) != 1; /* "K" counts, and measures nothing */
	double thousands = take_time(&said, value) ? 1 : thousands_of_rate(said);

	*value = number_scale(*value, thousands, 1);
	said = span_skip(said, thousands > 1);
	if (!is_number && may_be_shown(said))
		*unit = said;
}

bool definition_read_said(const struct definition *definition, const struct span *groups, struct span text,
	double *value, struct span *unit)
{
	struct span said = definition->unit_group > 0 ? groups[definition->unit_group] : SPAN(""), rate;

	if (!number_parse_value(text, definition->unit_s, value)) {
		text = span_trim(text);
		if (!split_rate(definition, text, &text, &rate) || !number_parse_value(text, 0, value))
			return false;
		said = said.len ? said : rate;
	}
	if (said.len)
		*value = number_in_unit(*value, said, definition->unit_s);
	if (definition->shown.unit.len) {
		if (said.len && definition->unit_s == 0)
			*value = number_scale(
				*value, thousands_of_rate(said), thousands_of_rate(definition->shown.unit));
		return true;
	}
	if (said.len && is_of_value(definition, text, said))
		take_said(said, value, unit);
	else if (number_is_duration(text))
		*unit = SPAN("s");
	return true;
}
