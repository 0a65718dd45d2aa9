#include "extract/generic/cells.h"

#include "extract/line/cursor.h"

enum { DRAWN_MIN = 3 };

/* Bytes of the bar at the front: '|', or one of │ ┃ ║ in UTF-8. 0: there is none. */
static size_t bar_length(struct span text)
{
	static const struct span bars[] = {SPAN("\xe2\x94\x82"), SPAN("\xe2\x94\x83"), SPAN("\xe2\x95\x91")};

	if (!text.len)
		return 0;
	if (text.ptr[0] == '|')
		return 1;
	if (text.ptr[0] != '\xe2')
		return 0;
	for (size_t i = 0; i < sizeof bars / sizeof *bars; i++)
		if (span_starts_with(text, bars[i]))
			return bars[i].len;
	return 0;
}

/* Bytes of what draws a line, at the front: ASCII, a bar, or U+2500 to U+259F. 0: something else. */
static size_t drawn_length(struct span text)
{
	if (!text.len)
		return 0;
	if (text.ptr[0] && strchr("-=+|:#*_~", text.ptr[0]))
		return 1;
	return text.len >= 3 && text.ptr[0] == '\xe2' && (unsigned char)text.ptr[1] >= 0x94 &&
			       (unsigned char)text.ptr[1] <= 0x96
		       ? 3
		       : 0;
}

static bool add(struct cells *cells, struct span text)
{
	if (cells->count == CELLS_MAX)
		return false;
	cells->items[cells->count++] = span_trim(text);
	return true;
}

static bool split_at_bars(struct span text, struct cells *cells)
{
	size_t from = 0;

	text = span_trim(text);
	text = span_skip(text, bar_length(text));
	for (size_t i = 0; i < text.len;) {
		size_t bar = bar_length(span_skip(text, i));
		if (bar && !add(cells, span_of(text.ptr + from, i - from)))
			return false;
		i += bar ? bar : 1;
		from = bar ? i : from;
	}
	return from == text.len || add(cells, span_skip(text, from));
}

static bool is_gap(struct span text, enum cells_form form)
{
	char first = char_at(text, 0), next = char_at(text, 1);

	return first == '\t' || (first == ' ' && (form == CELLS_BLANKS || next == ' ' || next == '\t'));
}

static bool split_at_blanks(struct span text, enum cells_form form, struct cells *cells)
{
	size_t from = 0;

	text = span_trim(text);
	for (size_t i = 0; i < text.len;) {
		if (!is_gap(span_skip(text, i), form)) {
			i++;
			continue;
		}
		if (!add(cells, span_of(text.ptr + from, i - from)))
			return false;
		while (char_at(text, i) == ' ' || char_at(text, i) == '\t')
			i++;
		from = i;
	}
	return !text.len || add(cells, span_skip(text, from));
}

bool cells_split(struct span text, enum cells_form form, struct cells *cells)
{
	cells->count = 0;
	return form == CELLS_BARS ? split_at_bars(text, cells) : split_at_blanks(text, form, cells);
}

bool cells_has_frame(struct span text)
{
	return bar_length(span_trim(text)) > 0;
}

bool cells_has_bar(struct span text)
{
	if (span_find_char(text, '|') >= 0)
		return true;
	for (ptrdiff_t at; (at = span_find_char(text, '\xe2')) >= 0; text = span_skip(text, (size_t)at + 1))
		if (bar_length(span_skip(text, (size_t)at)))
			return true;
	return false;
}

bool cells_is_rule(struct span text)
{
	size_t drawn = 0;

	while (text.len) {
		size_t len = drawn_length(text);
		if (!len && text.ptr[0] != ' ' && text.ptr[0] != '\t')
			return false;
		drawn += len > 0;
		text = span_skip(text, len ? len : 1);
	}
	return drawn >= DRAWN_MIN;
}

struct span cells_undecorated(struct span text)
{
	size_t len;

	text = span_trim(text);
	while ((len = drawn_length(text)) > 0 || char_at(text, 0) == ' ')
		text = span_skip(text, len ? len : 1);
	for (;;) {
		size_t back = 1;
		if (text.len >= 3 && text.ptr[text.len - 3] == '\xe2')
			back = 3;
		struct span last = span_skip(text, text.len - (back < text.len ? back : text.len));
		bool is_drawn = text.len && (drawn_length(last) == last.len || (last.len == 1 && last.ptr[0] == ' '));
		if (!is_drawn)
			return text;
		text.len -= last.len;
	}
}
