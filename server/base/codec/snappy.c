#include "base/codec/snappy.h"

#include <snappy-c.h>

/* No element of a block makes more than 64 bytes, and none is shorter than two: a length beyond that is a lie, and is not
 * given memory. */
enum { BYTES_AN_ELEMENT = 64, ELEMENT_BYTES = 2 };

static enum status damaged(const char *why, struct error *err)
{
	return error_set(err, ERR_INVALID, "the body is no snappy block: %s", why);
}

enum status snappy_unpack(struct span packed, size_t max_bytes, struct buf *out, struct error *err)
{
	size_t bytes;

	TRY(buf_status(out, err));
	if (!packed.len)
		return damaged("it is empty", err);
	if (snappy_uncompressed_length(packed.ptr, packed.len, &bytes) != SNAPPY_OK)
		return damaged("its first bytes are no length", err);
	if (bytes / (BYTES_AN_ELEMENT / ELEMENT_BYTES) > packed.len)
		return damaged("it is too short for the length that it states", err);
	if (bytes > max_bytes)
		return error_set(
			err, ERR_TOO_LARGE, "the body has %zu bytes when unpacked, more than %zu", bytes, max_bytes);
	char *room = buf_reserve(out, bytes);
	if (!room)
		return buf_status(out, err);
	if (snappy_uncompress(packed.ptr, packed.len, room, &bytes) != SNAPPY_OK)
		return damaged("it is damaged", err);
	buf_advance(out, bytes);
	return OK;
}
