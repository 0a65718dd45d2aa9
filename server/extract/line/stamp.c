/* Times as parts of a prefix. What they say is read in base/text/line_time.c. */
#include "extract/line/part.h"

static const char *const days[] = {"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"};
static const char *const months[] = {
	"Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

static bool begins_with_one(struct span text, const char *const *names, size_t count)
{
	if (text.len < 4 || text.ptr[3] != ' ')
		return false;
	for (size_t i = 0; i < count; i++)
		if (memcmp(text.ptr, names[i], 3) == 0)
			return true;
	return false;
}

static void take_fraction(struct span *text)
{
	if ((char_at(*text, 0) == '.' || char_at(*text, 0) == ',') && is_digit(char_at(*text, 1)))
		*text = span_skip(*text, 1 + count_digits(span_skip(*text, 1)));
}

/* Z, +02:00, +0000 */
static void take_zone(struct span *text)
{
	if (span_take(text, SPAN("Z")))
		return;
	if (has_form(*text, "+dd:dd") || has_form(*text, "-dd:dd"))
		*text = span_skip(*text, 6);
	else if (has_form(*text, "+dddd") || has_form(*text, "-dddd"))
		*text = span_skip(*text, 5);
}

/* 12:34:56.789 */
static bool take_clock(struct span *text)
{
	if (!has_form(*text, "dd:dd:dd"))
		return false;
	*text = span_skip(*text, 8);
	take_fraction(text);
	take_zone(text);
	return true;
}

/* 2024-06-25, 06/25/2024, 06/25/24, 06/25, 06-25 and what joins them to the time: " ", "T", "," */
static size_t date_length(struct span text)
{
	static const struct {
		const char *form;
		size_t len;
	} forms[] = {{"ddddsddsddTdd:", 11}, {"ddddsddsdd,dd:", 11}, {"dd/dd/dddd dd:", 11}, {"dd/dd/dd dd:", 9},
		{"dd-dd-dd dd:", 9}, {"dd/dd dd:", 6}, {"dd-dd dd:", 6}};

	for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
		if (has_form(text, forms[i].form))
			return forms[i].len;
	return 0;
}

/* "Jun 25 12:34:56", "Jun 25 2024 12:34:56", "Tue Jun 25 12:34:56 2024", "Tue 2024-06-25 12:34:56 UTC" */
static bool take_named(struct span *text)
{
	struct span rest = *text;
	bool has_day = begins_with_one(rest, days, sizeof days / sizeof *days);

	rest = span_skip(rest, has_day ? 4 : 0);
	if (begins_with_one(rest, months, sizeof months / sizeof *months)) {
		rest = span_skip(rest, 4);
		if (!has_form(rest, "dd ") && !has_form(rest, " d "))
			return false;
		rest = span_skip(rest, 3);
		rest = span_skip(rest, has_form(rest, "dddd dd:") ? 5 : 0); /* "Nov 30 2026 01:10:00" */
	} else if (has_day && has_form(rest, "dddd-dd-dd ")) {
		rest = span_skip(rest, 11);
	} else {
		return false;
	}
	if (!take_clock(&rest))
		return false;
	if (has_day) { /* the zone and the year */
		size_t zone = 1;
		while (zone <= 5 && is_upper(char_at(rest, zone)))
			zone++;
		if (char_at(rest, 0) == ' ' && zone > 1 && char_at(rest, zone) == ' ')
			rest = span_skip(rest, zone);
		if (has_form(rest, " dddd"))
			rest = span_skip(rest, 5);
	}
	*text = rest;
	return true;
}

/* 1719318896.123456 */
static bool take_seconds(struct span *text)
{
	struct span rest = *text;

	if (char_at(rest, 0) != '1' || !has_form(rest, "dddddddddd.ddd"))
		return false;
	rest = span_skip(rest, 10);
	take_fraction(&rest);
	*text = rest;
	return true;
}

bool stamp_take_bare(struct span *text)
{
	struct span rest = *text;

	if (is_upper(char_at(rest, 0)))
		return take_named(text);
	if (!is_digit(char_at(rest, 0)))
		return false;
	if (take_seconds(text))
		return true;
	rest = span_skip(rest, date_length(rest));
	if (!take_clock(&rest))
		return false;
	*text = rest;
	return true;
}

bool stamp_has_date(struct span text)
{
	return (is_upper(char_at(text, 0)) || date_length(text)) && stamp_take(&text) != PART_NONE;
}

/* "[  123.456789] " of dmesg and journalctl -o short-monotonic */
static bool take_monotonic(struct span *text)
{
	struct span rest = span_skip(*text, 1);

	rest = span_skip(rest, count_char(rest, ' '));
	size_t seconds = count_digits(rest);
	if (!seconds || seconds > 10 || char_at(rest, seconds) != '.' ||
		count_digits(span_skip(rest, seconds + 1)) != 6)
		return false;
	rest = span_skip(rest, seconds + 7);
	if (!span_take(&rest, SPAN("] ")))
		return false;
	*text = rest;
	return true;
}

/*
 * Of a date and a time in the form of ISO 8601 it is known that no trainer needs it: no expression of a preset begins with
 * one. In CRI the stream and the flag stand behind it.
 */
enum part stamp_take(struct span *text)
{
	struct span rest = *text;
	bool is_in_brackets = span_take(&rest, SPAN("[")), is_iso = has_form(rest, "ddddsddsddTdd:dd:dd");

	if (!stamp_take_bare(&rest))
		return is_in_brackets && take_monotonic(text) ? PART_WORD : PART_NONE;
	if (is_in_brackets && !span_take(&rest, SPAN("]")))
		return PART_NONE;
	char next = char_at(rest, 0);
	if (rest.len && next != ' ' && next != '\t' && next != ':' && next != '[' && next != '|')
		return PART_NONE;
	(void)!span_take(&rest, SPAN(":"));
	(void)!(span_take(&rest, SPAN(" ")) ||
		span_take(&rest, SPAN("\t"))); /* one: what is behind it may be the line's own indentation */
	if (is_iso)
		(void)!(span_take(&rest, SPAN("stdout F ")) || span_take(&rest, SPAN("stderr F ")) ||
			span_take(&rest, SPAN("stdout P ")) || span_take(&rest, SPAN("stderr P ")));
	*text = rest;
	return is_iso ? PART_TAG : PART_WORD;
}
