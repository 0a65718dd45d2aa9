#include "base/buf.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>

void buf_done(struct buf *b)
{
	mem_free(b->ptr);
	*b = (struct buf){.max_bytes = b->max_bytes};
}

void buf_reset(struct buf *b)
{
	b->len = 0;
	b->failure = OK;
}

/* One byte more than cap is always there: a NUL behind the last byte never counts against the limit. */
static bool grow(struct buf *b, size_t needed)
{
	size_t wanted = b->cap > 256 ? b->cap : 256;

	while (wanted < needed && wanted <= SIZE_MAX / 4)
		wanted *= 2;
	if (wanted < needed || wanted > b->max_bytes)
		wanted = b->max_bytes;
	char *grown = wanted < SIZE_MAX ? mem_resize(b->ptr, wanted + 1, 1) : NULL;
	if (!grown) {
		b->failure = ERR_MEMORY;
		return false;
	}
	b->ptr = grown;
	b->cap = wanted;
	return true;
}

char *buf_reserve(struct buf *b, size_t len)
{
	if (b->failure)
		return NULL;
	if (len > b->max_bytes || b->len > b->max_bytes - len) {
		b->failure = ERR_TOO_LARGE;
		return NULL;
	}
	if ((!b->ptr || b->cap - b->len < len) && !grow(b, b->len + len))
		return NULL;
	return b->ptr + b->len;
}

void buf_advance(struct buf *b, size_t len)
{
	b->len += len;
}

void buf_append(struct buf *b, const void *bytes, size_t len)
{
	char *room = len ? buf_reserve(b, len) : NULL;

	if (room) {
		memcpy(room, bytes, len);
		b->len += len;
	}
}

void buf_append_span(struct buf *b, struct span s)
{
	buf_append(b, s.ptr, s.len);
}

void buf_append_text(struct buf *b, const char *text)
{
	buf_append(b, text, strlen(text));
}

void buf_append_char(struct buf *b, char c)
{
	buf_append(b, &c, 1);
}

void buf_append_percent_encoded(struct buf *b, struct span s)
{
	static const char digits[] = "0123456789ABCDEF";

	for (size_t i = 0; i < s.len; i++) {
		unsigned char c = (unsigned char)s.ptr[i];
		if ((c < 0x80 && isalnum(c)) || c == '-' || c == '.' || c == '_' || c == '~') {
			buf_append_char(b, (char)c);
		} else {
			buf_append_char(b, '%');
			buf_append_char(b, digits[c >> 4]);
			buf_append_char(b, digits[c & 15]);
		}
	}
}

void buf_printf(struct buf *b, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	int length = vsnprintf(NULL, 0, format, arguments);
	va_end(arguments);
	char *room = length >= 0 ? buf_reserve(b, (size_t)length) : NULL;
	if (!room)
		return;
	va_start(arguments, format);
	vsnprintf(room, (size_t)length + 1, format, arguments);
	va_end(arguments);
	b->len += (size_t)length;
}

struct span buf_span(const struct buf *b)
{
	return span_of(b->ptr ? b->ptr : "", b->len);
}

enum status buf_status(const struct buf *b, struct error *err)
{
	if (b->failure == ERR_TOO_LARGE)
		return error_set(err, ERR_TOO_LARGE, "more than %zu bytes are not held here", b->max_bytes);
	if (b->failure == ERR_MEMORY)
		return error_no_memory(err);
	return OK;
}

char *buf_take(struct buf *b, size_t *len)
{
	char *bytes = b->ptr;

	if (len)
		*len = b->len;
	*b = (struct buf){.max_bytes = b->max_bytes};
	return bytes;
}
