#include "base/text/csv.h"

static bool is_formula(struct span text)
{
	double number;

	return text.len && memchr("=+-@\t\r\n", text.ptr[0], 7) && !span_parse_double(text, &number);
}

/* Blanks at the sides would be lost to many readers. */
static bool must_quote(struct span text)
{
	if (text.len && (text.ptr[0] == ' ' || text.ptr[text.len - 1] == ' '))
		return true;
	for (size_t i = 0; i < text.len; i++)
		if (memchr(",\"\r\n\t", text.ptr[i], 5))
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
		if (text.ptr[i] == '"')
			buf_append_char(out, '"');
		buf_append_char(out, text.ptr[i]);
	}
	buf_append_char(out, '"');
}
