#include "live/lines_event.h"

/* Digits, with a sign. */
static struct span take_number(struct span *rest)
{
	size_t len = 0;

	while (len < rest->len && (rest->ptr[len] == '-' || (rest->ptr[len] >= '0' && rest->ptr[len] <= '9')))
		len++;
	struct span number = span_of(rest->ptr, len);
	*rest = span_skip(*rest, len);
	return number;
}

static void append_utf8(struct buf *out, uint32_t code)
{
	if (code < 0x80) {
		buf_append_char(out, (char)code);
	} else if (code < 0x800) {
		buf_append_char(out, (char)(0xc0 | code >> 6));
		buf_append_char(out, (char)(0x80 | (code & 0x3f)));
	} else {
		buf_append_char(out, (char)(0xe0 | code >> 12));
		buf_append_char(out, (char)(0x80 | (code >> 6 & 0x3f)));
		buf_append_char(out, (char)(0x80 | (code & 0x3f)));
	}
}

/* The writer escapes control characters alone, so that there are no pairs of surrogates. */
static bool take_code(struct span *rest, struct buf *out)
{
	uint32_t code = 0;

	if (rest->len < 4)
		return false;
	for (size_t i = 0; i < 4; i++) {
		int digit = span_hex_digit(rest->ptr[i]);
		if (digit < 0)
			return false;
		code = code << 4 | (uint32_t)digit;
	}
	*rest = span_skip(*rest, 4);
	append_utf8(out, code);
	return code < 0xd800 || code > 0xdfff;
}

static bool take_escape(struct span *rest, struct buf *out)
{
	static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";

	if (!rest->len)
		return false;
	char c = *rest->ptr;
	const char *name = c ? strchr(names, c) : NULL;
	*rest = span_skip(*rest, 1);
	if (name)
		buf_append_char(out, values[name - names]);
	return name || (c == 'u' && take_code(rest, out));
}

/* With its quotes; what is between them is appended. */
static bool take_string(struct span *rest, struct buf *out)
{
	if (!span_take(rest, SPAN("\"")))
		return false;
	for (;;) {
		size_t plain = 0;
		while (plain < rest->len && rest->ptr[plain] != '"' && rest->ptr[plain] != '\\')
			plain++;
		buf_append(out, rest->ptr, plain);
		*rest = span_skip(*rest, plain);
		if (span_take(rest, SPAN("\"")))
			return true;
		if (!span_take(rest, SPAN("\\")) || !take_escape(rest, out))
			return false;
	}
}

bool lines_event_open(struct lines_event *event, struct span json, struct buf *stream)
{
	struct span rest = json;
	size_t before = stream->len;

	*event = (struct lines_event){0};
	if (!span_take(&rest, SPAN("{\"job\":")) || !take_string(&rest, stream))
		return false;
	stream->len = before; /* the job's name is not wanted */
	if (!span_take(&rest, SPAN(",\"stream\":")) || !take_string(&rest, stream) ||
		!span_take(&rest, SPAN(",\"from\":")) || !take_number(&rest).len ||
		!span_take(&rest, SPAN(",\"count\":")) || !span_parse_u64(take_number(&rest), &event->count) ||
		!span_take(&rest, SPAN(",\"lines\":[")))
		return false;
	event->head = span_of(json.ptr, json.len - rest.len);
	event->rest = rest;
	return true;
}

bool lines_event_next(struct lines_event *event, struct span *object, struct buf *text)
{
	struct span rest = event->rest;

	if (event->is_broken || span_take(&rest, SPAN("]}")))
		return false;
	span_take(&rest, SPAN(","));
	const char *start = rest.ptr;
	event->is_broken = !span_take(&rest, SPAN("{\"n\":")) || !take_number(&rest).len ||
			   !span_take(&rest, SPAN(",\"ts_ms\":")) || !take_number(&rest).len ||
			   !span_take(&rest, SPAN(",\"text\":")) || !take_string(&rest, text) ||
			   !span_take(&rest, SPAN("}"));
	if (event->is_broken)
		return false;
	*object = span_of(start, (size_t)(rest.ptr - start));
	event->rest = rest;
	return true;
}
