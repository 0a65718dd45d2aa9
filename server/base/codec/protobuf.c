#include "base/codec/protobuf.h"

enum { VARINT_BYTES = 10, FIELD_MAX = (1 << 29) - 1 };

static bool take_varint(struct span *rest, uint64_t *value)
{
	*value = 0;
	for (size_t i = 0; i < rest->len && i < VARINT_BYTES; i++) {
		unsigned char byte = (unsigned char)rest->ptr[i];
		if (i == VARINT_BYTES - 1 && byte > 1)
			return false; /* 65 bits and more */
		*value |= (uint64_t)(byte & 0x7f) << (7 * i);
		if (byte < 0x80) {
			*rest = span_skip(*rest, i + 1);
			return true;
		}
	}
	return false;
}

/* Little-endian on the wire, whatever the machine is. */
static bool take_fixed(struct span *rest, size_t bytes, uint64_t *value)
{
	if (rest->len < bytes)
		return false;
	*value = 0;
	for (size_t i = bytes; i-- > 0;)
		*value = *value << 8 | (unsigned char)rest->ptr[i];
	*rest = span_skip(*rest, bytes);
	return true;
}

static bool take_bytes(struct span *rest, struct span *bytes)
{
	uint64_t len;

	if (!take_varint(rest, &len) || len > rest->len)
		return false;
	*bytes = span_of(rest->ptr, (size_t)len);
	*rest = span_skip(*rest, (size_t)len);
	return true;
}

bool protobuf_next(struct span *rest, struct protobuf_field *field)
{
	struct span at = *rest;
	uint64_t key;
	bool is_taken = false;

	if (!at.len || !take_varint(&at, &key) || key >> 3 == 0 || key >> 3 > FIELD_MAX)
		return false;
	*field = (struct protobuf_field){.number = (uint32_t)(key >> 3), .type = (enum protobuf_type)(key & 7)};
	switch (field->type) {
	case PROTOBUF_VARINT:
		is_taken = take_varint(&at, &field->value);
		break;
	case PROTOBUF_FIXED64:
		is_taken = take_fixed(&at, 8, &field->value);
		break;
	case PROTOBUF_FIXED32:
		is_taken = take_fixed(&at, 4, &field->value);
		break;
	case PROTOBUF_BYTES:
		is_taken = take_bytes(&at, &field->bytes);
		break;
	}
	if (is_taken)
		*rest = at;
	return is_taken;
}

enum status protobuf_end(struct span rest, struct span body, const char *message, struct error *err)
{
	if (!rest.len)
		return OK;
	return error_set(err, ERR_INVALID,
		"byte %zu: no field of the protobuf message %s, or one that is longer than it",
		(size_t)(rest.ptr - body.ptr) + 1, message);
}

double protobuf_double(uint64_t bits)
{
	double value;

	memcpy(&value, &bits, sizeof value);
	return value;
}
