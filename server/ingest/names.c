#include "ingest/ingest.h"

/* C0, DEL and C1 (two bytes in UTF-8). */
static bool is_control(struct span character)
{
	unsigned char first = (unsigned char)character.ptr[0];

	return first < 0x20 || first == 0x7f || (first == 0xc2 && (unsigned char)character.ptr[1] < 0xa0);
}

enum status ingest_check_name(const char *field, struct span name, size_t max_bytes, struct error *err)
{
	if (name.len == 0)
		return error_set_field(err, ERR_INVALID, field, "%s is empty", field);
	if (name.len > max_bytes)
		return error_set_field(
			err, ERR_INVALID, field, "%s has %zu bytes, more than %zu", field, name.len, max_bytes);
	for (struct span rest = name; rest.len;) {
		size_t length = span_utf8_length(rest);
		size_t byte = name.len - rest.len + 1;
		if (length == 0)
			return error_set_field(err, ERR_INVALID, field, "%s is not UTF-8 at byte %zu (0x%02x)", field,
				byte, (unsigned char)rest.ptr[0]);
		if (is_control(rest))
			return error_set_field(
				err, ERR_INVALID, field, "%s has a control character at byte %zu", field, byte);
		rest = span_skip(rest, length);
	}
	return OK;
}
