#include "extract/line/ansi.h"

enum { ESCAPE = 0x1b, BELL = 0x07 };

/* Another ESC than that of its end cancels it: so each byte is looked at once, however many commands begin. */
static size_t length_of_command(struct span s)
{
	for (size_t i = 2; i < s.len; i++) {
		if (s.ptr[i] == BELL)
			return i + 1;
		if (s.ptr[i] == ESCAPE)
			return i + 1 < s.len && s.ptr[i + 1] == '\\' ? i + 2 : 2;
	}
	return 2; /* it never ends: keep what follows */
}

/* Bytes of the sequence at the start of s, which starts with ESC. ECMA-48, 5.4: parameters, intermediates, one final. */
static size_t length_of_escape(struct span s)
{
	if (s.len < 2)
		return s.len;
	if (s.ptr[1] == ']')
		return length_of_command(s);
	if (s.ptr[1] != '[')
		return 2;
	size_t i = 2;
	while (i < s.len && (unsigned char)s.ptr[i] >= 0x20 && (unsigned char)s.ptr[i] <= 0x3f)
		i++;
	bool has_final = i < s.len && (unsigned char)s.ptr[i] >= 0x40 && (unsigned char)s.ptr[i] <= 0x7e;
	return i + has_final;
}

size_t ansi_length(struct span text)
{
	return text.len && text.ptr[0] == ESCAPE ? length_of_escape(text) : 0;
}

void ansi_strip(struct span text, struct buf *out)
{
	while (text.len) {
		const char *escape = memchr(text.ptr, ESCAPE, text.len);
		size_t plain = escape ? (size_t)(escape - text.ptr) : text.len;
		buf_append(out, text.ptr, plain);
		text = span_skip(text, plain);
		if (text.len)
			text = span_skip(text, length_of_escape(text));
	}
}

size_t ansi_find_byte(struct span text, size_t stripped)
{
	size_t at = 0;

	while (at < text.len) {
		struct span rest = span_skip(text, at);
		const char *escape = memchr(rest.ptr, ESCAPE, rest.len);
		size_t plain = escape ? (size_t)(escape - rest.ptr) : rest.len;
		if (stripped < plain)
			return at + stripped;
		stripped -= plain;
		at += plain;
		if (at < text.len)
			at += length_of_escape(span_skip(text, at));
	}
	return text.len;
}
