#include "base/text/markup.h"

static bool is_unfit(struct span character)
{
	unsigned char first = (unsigned char)character.ptr[0];

	if (character.len == 1)
		return first < ' ' || first == 0x7f;
	if (character.len == 2)
		return first == 0xc2 && (unsigned char)character.ptr[1] < 0xa0; /* C1 */
	if (character.len != 3)
		return false;
	unsigned char second = (unsigned char)character.ptr[1], third = (unsigned char)character.ptr[2];
	return (first == 0xef && second == 0xbf && third >= 0xbe) ||
	       (first == 0xe2 && second == 0x80 && third >= 0xaa && third <= 0xae) ||
	       (first == 0xe2 && second == 0x81 && third >= 0xa6 && third <= 0xa9);
}

void markup_put_character(struct buf *out, struct span character)
{
	switch (character.ptr[0]) {
	case '<':
		buf_append_text(out, "&lt;");
		break;
	case '>':
		buf_append_text(out, "&gt;");
		break;
	case '&':
		buf_append_text(out, "&amp;");
		break;
	case '"':
		buf_append_text(out, "&quot;");
		break;
	default:
		if (is_unfit(character))
			buf_append_text(out, "\xef\xbf\xbd");
		else
			buf_append_span(out, character);
	}
}

void markup_put_text(struct buf *out, struct span text)
{
	for (size_t i = 0, len; i < text.len; i += len ? len : 1) {
		len = span_utf8_length(span_skip(text, i));
		markup_put_character(out, len ? span_of(text.ptr + i, len) : SPAN("\x01"));
	}
}
