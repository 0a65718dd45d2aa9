#include "base/json/json_python.h"

#include <ctype.h>

/* An escape from its backslash on; how long it is. */
static size_t put_escape(struct span text, struct buf *out)
{
	char next = text.len > 1 ? text.ptr[1] : 0;

	if (next == '\'') {
		buf_append_char(out, '\'');
		return 2;
	}
	if (next == 'x' && text.len >= 4) {
		buf_append_text(out, "\\u00");
		buf_append_span(out, span_of(text.ptr + 2, 2));
		return 4;
	}
	buf_append_span(out, span_of(text.ptr, text.len > 1 ? 2 : 1)); /* the others are JSON's, or nobody's */
	return text.len > 1 ? 2 : 1;
}

/* From its quote on; how long it is. */
static size_t put_string(struct span text, struct buf *out)
{
	char quote = text.ptr[0];
	size_t at = 1;

	buf_append_char(out, '"');
	while (at < text.len && text.ptr[at] != quote) {
		if (text.ptr[at] == '\\') {
			at += put_escape(span_skip(text, at), out);
			continue;
		}
		if (text.ptr[at] == '"')
			buf_append_char(out, '\\');
		buf_append_char(out, text.ptr[at++]);
	}
	if (at == text.len)
		return at; /* it has no end, and JSON's has none either */
	buf_append_char(out, '"');
	return at + 1;
}

static size_t put_word(struct span text, struct buf *out)
{
	size_t len = 0;

	while (len < text.len && isalpha((unsigned char)text.ptr[len]))
		len++;
	struct span word = span_of(text.ptr, len);
	if (span_equal(word, SPAN("True")))
		word = SPAN("true");
	else if (span_equal(word, SPAN("False")))
		word = SPAN("false");
	else if (span_equal(word, SPAN("None")))
		word = SPAN("null");
	buf_append_span(out, word);
	return len;
}

void json_from_python(struct span text, struct buf *out)
{
	while (text.len) {
		char c = text.ptr[0];
		size_t len = 1;
		if (c == '\'' || c == '"')
			len = put_string(text, out);
		else if (isalpha((unsigned char)c))
			len = put_word(text, out);
		else
			buf_append_char(out, c == '(' ? '[' : c == ')' ? ']' : c);
		text = span_skip(text, len);
	}
}
