#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *const names[STATUS_COUNT] = {
	[OK] = "ok",
	[ERR_INVALID] = "invalid",
	[ERR_SEMANTIC] = "semantic",
	[ERR_UNAUTHORIZED] = "unauthorized",
	[ERR_FORBIDDEN] = "forbidden",
	[ERR_NOT_FOUND] = "not_found",
	[ERR_CONFLICT] = "conflict",
	[ERR_PRECONDITION] = "precondition",
	[ERR_GONE] = "gone",
	[ERR_TOO_LARGE] = "too_large",
	[ERR_UNSUPPORTED] = "unsupported",
	[ERR_MISDIRECTED] = "misdirected",
	[ERR_BUSY] = "busy",
	[ERR_UNAVAILABLE] = "unavailable",
	[ERR_IO] = "io",
	[ERR_MEMORY] = "memory",
	[ERR_INTERNAL] = "internal",
};

static void fill(struct error *err, enum status status, const char *field, const char *format, va_list arguments)
{
	struct error filled = {.status = status};

	if (!err)
		return;
	snprintf(filled.field, sizeof filled.field, "%s", field);
	vsnprintf(filled.text, sizeof filled.text, format, arguments);
	*err = filled; /* last: the arguments may be parts of the old *err */
}

enum status error_fill(struct error *err, enum status status, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	fill(err, status, "", format, arguments);
	va_end(arguments);
	return status;
}

enum status error_fill_field(struct error *err, enum status status, const char *field, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	fill(err, status, field, format, arguments);
	va_end(arguments);
	return status;
}

void error_prefix(struct error *err, const char *format, ...)
{
	char text[ERROR_TEXT_BYTES];
	va_list arguments;
	int length;

	if (!err)
		return;
	va_start(arguments, format);
	length = vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	if (length < 0)
		return;
	size_t used = strnlen(text, sizeof text - 1);
	snprintf(text + used, sizeof text - used, ": %.*s", (int)(sizeof text - used - 3), err->text);
	memcpy(err->text, text, sizeof text);
}

const char *status_name(enum status status)
{
	return (unsigned)status < STATUS_COUNT ? names[status] : "unknown";
}
