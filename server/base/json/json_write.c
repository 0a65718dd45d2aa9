#include "base/json/json_write.h"
#include "base/bytes16.h"

#include <assert.h>

struct json_writer json_writer_on(struct buf *out)
{
	return (struct json_writer){.out = out};
}

static void begin_value(struct json_writer *w)
{
	if (w->needs_comma)
		buf_append_char(w->out, ',');
	w->needs_comma = true;
}

static void open_bracket(struct json_writer *w, char bracket)
{
	begin_value(w);
	buf_append_char(w->out, bracket);
	w->needs_comma = false;
	if (++w->depth > JSON_MAX_DEPTH && !w->out->failure)
		w->out->failure = ERR_TOO_LARGE; /* found by the one check at the end, as any limit */
}

static void close_bracket(struct json_writer *w, char bracket)
{
	assert(w->depth > 0);
	w->depth--;
	buf_append_char(w->out, bracket);
	w->needs_comma = true;
}

void json_object(struct json_writer *w)
{
	open_bracket(w, '{');
}

void json_object_end(struct json_writer *w)
{
	close_bracket(w, '}');
}

void json_array(struct json_writer *w)
{
	open_bracket(w, '[');
}

void json_array_end(struct json_writer *w)
{
	close_bracket(w, ']');
}

/* 16 bytes at once: none is a control character, a quote, a backslash or beyond ASCII, which is below 0. */
static bool is_plain_word(const char *at)
{
	typedef signed char signed16 __attribute__((vector_size(sizeof(bytes16))));
	bytes16 bytes = bytes16_at(at);

	return !bytes16_has_any((bytes16)(((signed16)bytes < ' ') | (bytes == '"') | (bytes == '\\')));
}

/* Bytes at the start of text that stand in a JSON string as they are. */
static size_t plain_length(struct span text)
{
	size_t at = 0;

	while (at < text.len) {
		unsigned char c = (unsigned char)text.ptr[at];
		if (text.len - at >= sizeof(bytes16) && is_plain_word(text.ptr + at)) {
			at += sizeof(bytes16);
		} else if (c >= 0x80) {
			size_t length = span_utf8_length(span_skip(text, at));
			if (!length)
				break;
			at += length;
		} else if (c < ' ' || c == '"' || c == '\\') {
			break;
		} else {
			at++;
		}
	}
	return at;
}

static void append_escape(struct buf *out, unsigned char c)
{
	static const char digits[] = "0123456789abcdef";
	static const char letters[] = {
		['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n', ['\f'] = 'f', ['\r'] = 'r', ['"'] = '"', ['\\'] = '\\'};

	if (c >= 0x80)
		buf_append_text(out, "\xef\xbf\xbd");
	else if (letters[c])
		buf_append(out, (char[]){'\\', letters[c]}, 2);
	else
		buf_append(out, (char[]){'\\', 'u', '0', '0', digits[c >> 4], digits[c & 15]}, 6);
}

/* Nearly every text stands as it is. */
static void append_plain(struct buf *out, struct span text)
{
	char *room = buf_reserve(out, text.len + 2);

	if (!room)
		return;
	room[0] = room[text.len + 1] = '"';
	if (text.len)
		memcpy(room + 1, text.ptr, text.len);
	buf_advance(out, text.len + 2);
}

static void append_string(struct buf *out, struct span text)
{
	size_t plain = plain_length(text);

	if (plain == text.len) {
		append_plain(out, text);
		return;
	}
	buf_append_char(out, '"');
	for (;;) {
		buf_append(out, text.ptr, plain);
		if (plain == text.len)
			break;
		append_escape(out, (unsigned char)text.ptr[plain]);
		text = span_skip(text, plain + 1);
		plain = plain_length(text);
	}
	buf_append_char(out, '"');
}

void json_key_span(struct json_writer *w, struct span key)
{
	begin_value(w);
	append_string(w->out, key);
	buf_append_char(w->out, ':');
	w->needs_comma = false;
}

void json_key(struct json_writer *w, const char *key)
{
	json_key_span(w, span_from(key));
}

void json_span(struct json_writer *w, struct span text)
{
	begin_value(w);
	append_string(w->out, text);
}

void json_text(struct json_writer *w, const char *text)
{
	json_span(w, span_from(text));
}

void json_bool(struct json_writer *w, bool value)
{
	begin_value(w);
	buf_append_text(w->out, value ? "true" : "false");
}

void json_null(struct json_writer *w)
{
	begin_value(w);
	buf_append_text(w->out, "null");
}

void json_raw(struct json_writer *w, struct span json)
{
	begin_value(w);
	buf_append_span(w->out, json);
}

void json_members(struct json_writer *w, struct span members)
{
	if (!members.len)
		return;
	begin_value(w);
	buf_append_span(w->out, members);
}

void json_seconds(struct json_writer *w, int64_t ms)
{
	uint64_t magnitude = ms < 0 ? 0 - (uint64_t)ms : (uint64_t)ms;

	begin_value(w);
	buf_printf(w->out, "%s%llu.%03u", ms < 0 ? "-" : "", (unsigned long long)(magnitude / 1000),
		(unsigned)(magnitude % 1000));
}

void json_put_span(struct json_writer *w, const char *key, struct span text)
{
	json_key(w, key);
	json_span(w, text);
}

void json_put_text(struct json_writer *w, const char *key, const char *text)
{
	json_key(w, key);
	json_text(w, text);
}

void json_put_i64(struct json_writer *w, const char *key, int64_t value)
{
	json_key(w, key);
	json_i64(w, value);
}

void json_put_double(struct json_writer *w, const char *key, double value)
{
	json_key(w, key);
	json_double(w, value);
}

void json_put_bool(struct json_writer *w, const char *key, bool value)
{
	json_key(w, key);
	json_bool(w, value);
}
