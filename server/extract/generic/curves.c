#include "extract/generic/curves.h"

#include "extract/generic/pair.h"
#include "extract/line/cursor.h"

struct span curves_name(struct span key, struct span around)
{
	static const struct span fillers[] = {SPAN("values"), SPAN("data"), SPAN("points"), SPAN("history")};

	if (series_is_known(key))
		return key;
	for (size_t i = 0; i < sizeof fillers / sizeof *fillers; i++)
		if (span_equal_fold(key, fillers[i]) && series_is_known(around))
			return around;
	return SPAN("");
}

bool curves_step(struct span key, int64_t *step)
{
	for (size_t i = 0; i < key.len; i++)
		if ((unsigned char)(key.ptr[i] - '0') >= 10)
			return false;
	return key.len && number_parse_step(key, step);
}

static void skip_blanks(struct span *text)
{
	*text = span_skip(*text, count_char(*text, ' '));
}

static bool is_quote(char c)
{
	return c == '"' || c == '\'';
}

/* What stands in quotes at the front of the text, which goes on behind them. */
static bool take_quoted(struct span *text, struct span *inside)
{
	char quote = char_at(*text, 0);
	size_t at = 1;

	if (!is_quote(quote))
		return false;
	while (at < text->len && text->ptr[at] != quote)
		at += text->ptr[at] == '\\' ? 2 : 1;
	if (at >= text->len)
		return false;
	*inside = span_of(text->ptr + 1, at - 1);
	*text = span_skip(*text, at + 1);
	return true;
}

/* "name": */
static bool take_key(struct span *text, struct span *key)
{
	if (!take_quoted(text, key))
		return false;
	skip_blanks(text);
	if (!span_take(text, SPAN(":")))
		return false;
	skip_blanks(text);
	return true;
}

/* A number, or what stands in quotes instead of one. */
static struct span take_cell(struct span *text)
{
	struct span cell;
	size_t len = 0;

	if (take_quoted(text, &cell))
		return cell;
	while (len < text->len && !strchr(",}]{[\"'", text->ptr[len]))
		len++;
	cell = span_trim(span_of(text->ptr, len));
	*text = span_skip(*text, len);
	return cell;
}

/* The first members behind the brace count up. */
static bool is_curve(struct span text)
{
	struct span key;
	int64_t last = -1, step;

	for (int i = 0; i < CURVES_MEMBERS_MIN; i++) {
		skip_blanks(&text);
		if (!take_key(&text, &key) || !curves_step(key, &step) || step <= last || !take_cell(&text).len)
			return false;
		last = step;
		skip_blanks(&text);
		if (!span_take(&text, SPAN(",")) && i + 1 < CURVES_MEMBERS_MIN)
			return false;
	}
	return true;
}

/* An object in it may be one: most lines have none. */
static bool may_have_curve(struct span text)
{
	for (ptrdiff_t at; (at = span_find_char(text, '{')) >= 0;) {
		text = span_skip(text, (size_t)at + 1);
		size_t gap = count_char(text, ' ');
		if (is_quote(char_at(text, gap)) && (unsigned char)(char_at(text, gap + 1) - '0') < 10)
			return true;
	}
	return false;
}

/* "step": 100 beside them: numbers are then names of layers, classes or devices. */
static bool has_counter(struct span text)
{
	struct span key;

	while (text.len) {
		if (!is_quote(text.ptr[0]))
			text = span_skip(text, 1);
		else if (take_key(&text, &key) && pair_counter(key) != COUNTER_NONE)
			return true;
		else if (is_quote(char_at(text, 0)) && !take_quoted(&text, &key))
			return false;
	}
	return false;
}

bool curves_begin(struct curves *curves, struct span text)
{
	*curves = (struct curves){.rest = span_trim(text)};
	return char_at(curves->rest, 0) == '{' && may_have_curve(curves->rest) && !has_counter(curves->rest);
}

static void open(struct curves *curves, struct span key)
{
	size_t depth = curves->depth++;

	if (depth >= CURVES_DEPTH_MAX)
		return;
	curves->keys[depth] = key;
	struct span name = depth ? curves_name(key, curves->keys[depth - 1]) : SPAN("");
	curves->names[depth] = name.len && is_curve(curves->rest) ? name : SPAN("");
}

/* "nan" in quotes says that there is no value; without them it is one. */
static bool is_point(const struct curves *curves, struct span key, struct span cell, struct curves_point *point)
{
	size_t depth = curves->depth;
	bool is_quoted = cell.len && is_quote(cell.ptr[-1]);

	if (!depth || depth > CURVES_DEPTH_MAX || !curves->names[depth - 1].len || !curves_step(key, &point->step) ||
		!number_parse(cell, &point->value) || (is_quoted && !__builtin_isfinite(point->value)))
		return false;
	point->name = curves->names[depth - 1];
	point->text = cell;
	return true;
}

bool curves_next(struct curves *curves, struct curves_point *point)
{
	struct span key = SPAN(""), *rest = &curves->rest;

	while (rest->len) {
		char c = rest->ptr[0];
		if (is_quote(c)) {
			size_t len = rest->len;
			if (!take_key(rest, &key))
				key = SPAN("");
			if (rest->len == len)
				return false; /* the text ends in it */
			char next = char_at(*rest, 0);
			if (next != '{' && next != '[' && key.len && is_point(curves, key, take_cell(rest), point))
				return true;
			continue;
		}
		*rest = span_skip(*rest, 1);
		if (c == '{' || c == '[')
			open(curves, key);
		else if ((c == '}' || c == ']') && curves->depth)
			curves->depth--;
		key = SPAN("");
	}
	return false;
}
