#include "base/text/csv.h"

/* The wide ones are the same to spreadsheets of East Asia. */
static bool begins_formula(struct span text)
{
	static const char *const signs[] = {
		"=", "+", "-", "@", "\t", "\r", "\n", "\xef\xbc\x9d", "\xef\xbc\x8b", "\xef\xbc\x8d", "\xef\xbc\xa0"};

	for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
		if (span_starts_with(text, span_from(signs[i])))
			return true;
	return false;
}

static bool is_formula(struct span text)
{
	double number;

	return begins_formula(text) && !span_parse_double(text, &number);
}

/*
 * Where a semicolon or a tab stands between cells, quotes in the middle of one mean nothing: what follows would be a cell of its
 * own. It is the rest of the text, up to the next one.
 */
static bool is_formula_elsewhere(struct span text, size_t i)
{
	if (i == 0 || !memchr(";\t\n\r", text.ptr[i - 1], 4))
		return false;
	struct span rest = span_skip(text, i), cell;
	return span_next(&rest, ';', &cell) && !memchr("\t\r\n", *cell.ptr, 3) && is_formula(cell);
}

/* Blanks at the sides would be lost to many readers. */
static bool must_quote(struct span text)
{
	if (text.len && (text.ptr[0] == ' ' || text.ptr[text.len - 1] == ' '))
		return true;
	for (size_t i = 0; i < text.len; i++)
		if (memchr(",;\"\r\n\t", text.ptr[i], 6))
			return true;
	return false;
}

void csv_put_cell(struct buf *out, struct span text)
{
	bool is_unsafe = is_formula(text);

	if (!is_unsafe && !must_quote(text)) {
		buf_append_span(out, text);
		return;
	}
	buf_append_text(out, is_unsafe ? "\"'" : "\"");
	for (size_t i = 0; i < text.len; i++) {
		if (is_formula_elsewhere(text, i))
			buf_append_char(out, '\'');
		if (text.ptr[i] == '"')
			buf_append_char(out, '"');
		buf_append_char(out, text.ptr[i]);
	}
	buf_append_char(out, '"');
}
