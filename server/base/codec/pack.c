#include "base/codec/pack.h"

#include <endian.h>

enum { MAX_VARINT_BYTES = 10 };

char *pack_u64_at(char *at, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		*at++ = (char)(value | 0x80);
	*at++ = (char)value;
	return at;
}

void pack_u64(struct buf *out, uint64_t value)
{
	char bytes[MAX_VARINT_BYTES];

	buf_append(out, bytes, (size_t)(pack_u64_at(bytes, value) - bytes));
}

void pack_i64(struct buf *out, int64_t value)
{
	pack_u64(out, pack_zigzag(value));
}

void pack_double(struct buf *out, double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof bits);
	bits = htole64(bits);
	buf_append(out, &bits, sizeof bits);
}

/* Little endian already: they are copied as they are. */
void pack_doubles(struct buf *out, const double *values, size_t count)
{
	bool is_same = htole64(1) == 1;

	if (is_same)
		buf_append(out, values, count * sizeof *values);
	for (size_t i = 0; i < count && !is_same; i++)
		pack_double(out, values[i]);
}

void pack_span(struct buf *out, struct span bytes)
{
	pack_u64(out, bytes.len);
	buf_append_span(out, bytes);
}

struct unpacker unpacker_on(struct span bytes)
{
	return (struct unpacker){.rest = bytes};
}

static void fail(struct unpacker *u)
{
	u->has_failed = true;
	u->rest.len = 0;
}

uint64_t unpack_long(struct unpacker *u)
{
	uint64_t value = 0;

	for (size_t i = 0; i < u->rest.len && i < MAX_VARINT_BYTES; i++) {
		unsigned char byte = (unsigned char)u->rest.ptr[i];
		if (i == MAX_VARINT_BYTES - 1 && byte > 1)
			break; /* more than 64 bits */
		value |= (uint64_t)(byte & 0x7f) << (7 * i);
		if (byte < 0x80) {
			u->rest = span_skip(u->rest, i + 1);
			return value;
		}
	}
	fail(u);
	return 0;
}

/* Eight bytes at once; the last of each number has no top bit. */
void unpack_pass(struct unpacker *u, size_t count)
{
	static const uint64_t tops = 0x8080808080808080;
	const char *at = u->rest.ptr, *end = at + u->rest.len;

	for (uint64_t word; count >= sizeof word && (size_t)(end - at) >= sizeof word; at += sizeof word) {
		memcpy(&word, at, sizeof word);
		count -= (size_t)__builtin_popcountll(~word & tops);
	}
	for (; count && at < end; at++)
		count -= (unsigned char)*at < 0x80;
	if (count)
		fail(u);
	else
		u->rest = span_of(at, (size_t)(end - at));
}

double unpack_double(struct unpacker *u)
{
	uint64_t bits;
	double value;

	if (u->rest.len < sizeof bits) {
		fail(u);
		return 0;
	}
	memcpy(&bits, u->rest.ptr, sizeof bits);
	u->rest = span_skip(u->rest, sizeof bits);
	bits = le64toh(bits);
	memcpy(&value, &bits, sizeof value);
	return value;
}

void unpack_doubles(struct unpacker *u, double *values, size_t count)
{
	bool is_same = htole64(1) == 1;

	if (u->rest.len / sizeof *values < count) {
		fail(u);
		return;
	}
	if (is_same && count) {
		memcpy(values, u->rest.ptr, count * sizeof *values);
		u->rest = span_skip(u->rest, count * sizeof *values);
	}
	for (size_t i = 0; i < count && !is_same; i++)
		values[i] = unpack_double(u);
}

struct span unpack_span(struct unpacker *u)
{
	uint64_t len = unpack_u64(u);

	if (len > u->rest.len) {
		fail(u);
		return SPAN("");
	}
	struct span bytes = span_of(u->rest.ptr, (size_t)len);
	u->rest = span_skip(u->rest, (size_t)len);
	return bytes;
}

size_t unpack_count(struct unpacker *u, size_t min_item_bytes)
{
	uint64_t count = unpack_u64(u);

	if (count > u->rest.len / (min_item_bytes ? min_item_bytes : 1)) {
		fail(u);
		return 0;
	}
	return (size_t)count;
}

void unpacker_no_memory(struct unpacker *u)
{
	u->has_failed = u->is_out_of_memory = true;
}

enum status unpacker_end(const struct unpacker *u, const char *what, struct error *err)
{
	if (u->is_out_of_memory)
		return error_no_memory(err);
	if (u->has_failed)
		return error_set(
			err, ERR_INVALID, "%s is damaged: it is cut off or holds a number that cannot be", what);
	if (u->rest.len)
		return error_set(err, ERR_INVALID, "%s is damaged: %zu bytes too many", what, u->rest.len);
	return OK;
}
