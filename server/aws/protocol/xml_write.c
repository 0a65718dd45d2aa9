#include "aws/protocol/xml_write.h"

#include "base/text/iso8601.h"
#include "base/json/json_write.h"

#include <math.h>

static const char replacement[] = "\xef\xbf\xbd"; /* U+FFFD */

static const char *escape_of(char c)
{
	switch (c) {
	case '&':
		return "&amp;";
	case '<':
		return "&lt;";
	case '>':
		return "&gt;";
	case '"':
		return "&quot;";
	case '\'':
		return "&apos;";
	case '\r':
		return "&#xD;"; /* else readers make a newline of it */
	default:
		return (unsigned char)c < ' ' && c != '\t' && c != '\n' ? replacement : NULL;
	}
}

/* U+FFFE and U+FFFF. */
static bool is_no_character(struct span text, size_t length)
{
	return length == 3 && memcmp(text.ptr, "\xef\xbf", 2) == 0 && (unsigned char)text.ptr[2] >= 0xbe;
}

void xml_write_text(struct span text, struct buf *out)
{
	while (text.len) {
		size_t length = span_utf8_length(text);
		const char *escape = length == 1 ? escape_of(text.ptr[0]) : NULL;
		if (!length || is_no_character(text, length))
			escape = replacement;
		if (escape)
			buf_append_text(out, escape);
		else
			buf_append(out, text.ptr, length);
		text = span_skip(text, length ? length : 1);
	}
}

static void write_tag(const char *before, struct span name, struct buf *out)
{
	buf_append_text(out, before);
	buf_append_span(out, name);
	buf_append_char(out, '>');
}

static void write_time(double seconds, struct buf *out)
{
	char text[ISO8601_BYTES];

	iso8601_format((int64_t)llround(seconds * 1000), text);
	buf_append_text(out, text);
}

static void write_number(double value, bool is_time, struct buf *out)
{
	char text[33];

	if (is_time) {
		write_time(value, out);
		return;
	}
	json_format_double(value, text);
	buf_append_text(out, text);
}

static bool is_among(struct span name, const char *const *names)
{
	for (; *names; names++)
		if (span_equal(name, span_from(*names)))
			return true;
	return false;
}

static void write_content(const struct xml_reply *reply, const struct json *node, bool is_time, struct buf *out);

static void write_member(
	const struct xml_reply *reply, struct span name, const struct json *node, bool is_time, struct buf *out)
{
	write_tag("<", name, out);
	write_content(reply, node, is_time, out);
	write_tag("</", name, out);
}

static void write_map(const struct xml_reply *reply, struct span name, const struct json *map, struct buf *out)
{
	write_tag("<", name, out);
	for (const struct json *item = json_first(map); item; item = json_next(item)) {
		buf_append_text(out, "<entry><key>");
		xml_write_text(json_key_of(item), out);
		buf_append_text(out, "</key>");
		write_member(reply, SPAN("value"), item, false, out);
		buf_append_text(out, "</entry>");
	}
	write_tag("</", name, out);
}

static void write_content(const struct xml_reply *reply, const struct json *node, bool is_time, struct buf *out)
{
	enum json_kind kind = json_kind(node);
	double number = 0;

	if (kind == JSON_STRING)
		xml_write_text(json_string_of(node), out);
	else if (kind == JSON_BOOL)
		buf_append_text(out, json_is_true(node) ? "true" : "false");
	else if (json_number_of(node, &number))
		write_number(number, is_time, out);
	for (const struct json *item = json_first(node); item; item = json_next(item)) {
		struct span name = kind == JSON_ARRAY ? SPAN("member") : json_key_of(item);
		if (json_kind(item) == JSON_NULL)
			continue;
		if (kind == JSON_OBJECT && reply->maps && is_among(name, reply->maps))
			write_map(reply, name, item, out);
		else
			write_member(
				reply, name, item, kind == JSON_ARRAY ? is_time : is_among(name, reply->times), out);
	}
}

void xml_write_reply(const struct xml_reply *reply, const struct json *result, struct buf *out)
{
	buf_printf(out, "<%sResponse xmlns=\"%s\">", reply->operation, reply->namespace_uri);
	if (result) {
		buf_printf(out, "<%sResult>", reply->operation);
		write_content(reply, result, false, out);
		buf_printf(out, "</%sResult>", reply->operation);
	}
	buf_append_text(out, "<ResponseMetadata><RequestId>");
	xml_write_text(reply->request_id, out);
	buf_printf(out, "</RequestId></ResponseMetadata></%sResponse>", reply->operation);
}

void xml_write_error(
	const struct xml_reply *reply, bool is_sender, struct span code, struct span message, struct buf *out)
{
	buf_printf(out, "<ErrorResponse xmlns=\"%s\"><Error><Type>%s</Type><Code>", reply->namespace_uri,
		is_sender ? "Sender" : "Receiver");
	xml_write_text(code, out);
	buf_append_text(out, "</Code><Message>");
	xml_write_text(message, out);
	buf_append_text(out, "</Message></Error><RequestId>");
	xml_write_text(reply->request_id, out);
	buf_append_text(out, "</RequestId></ErrorResponse>");
}
