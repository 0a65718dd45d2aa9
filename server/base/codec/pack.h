/*
 * Job: the binary building blocks of our own formats (journal, blocks, chunks, states): varints, zigzag, bytes, doubles;
 *      and a reader that cannot run past its end.
 * Ownership: writing goes into the caller's buf; what is read points into the input. Threads: values.
 * Source: LEB128 varints and zigzag as in Protocol Buffers; doubles as 8 bytes, little endian.
 */
#pragma once

#include "base/buf.h"

/* Small numbers of either sign to small numbers, and back. */
static inline uint64_t pack_zigzag(int64_t value)
{
	return (uint64_t)value << 1 ^ (value < 0 ? UINT64_MAX : 0);
}
static inline int64_t unpack_zigzag(uint64_t value)
{
	return (int64_t)(value >> 1 ^ (0 - (value & 1)));
}

/* Where there is room for it; behind it. */
char *pack_u64_at(char *at, uint64_t value);
void pack_u64(struct buf *out, uint64_t value);
void pack_i64(struct buf *out, int64_t value); /* zigzag */
void pack_double(struct buf *out, double value); /* all bits kept: NaN, -0 */
void pack_doubles(struct buf *out, const double *values, size_t count);
void pack_span(struct buf *out, struct span bytes); /* length, bytes */

/* After a malformed read has_failed stays set and everything reads as zero or empty: check once at the end. */
struct unpacker {
	struct span rest;
	bool has_failed;
	bool is_out_of_memory; /* unpacker_no_memory: a reader had no room for what it read; the bytes are not at fault */
};

struct unpacker unpacker_on(struct span bytes);
void unpacker_no_memory(struct unpacker *u);
uint64_t unpack_long(struct unpacker *u); /* unpack_u64 is for callers */
static inline uint64_t unpack_u64(struct unpacker *u)
{
	unsigned char byte = u->rest.len ? (unsigned char)u->rest.ptr[0] : 0x80;

	if (byte >= 0x80)
		return unpack_long(u);
	u->rest = span_skip(u->rest, 1);
	return byte;
}
static inline int64_t unpack_i64(struct unpacker *u)
{
	return unpack_zigzag(unpack_u64(u));
}
void unpack_pass(
	struct unpacker *u, size_t count); /* over so many of either, without looking whether each is well-formed */
double unpack_double(struct unpacker *u);
void unpack_doubles(struct unpacker *u, double *values, size_t count); /* all or, where that fails, none */
struct span unpack_span(struct unpacker *u);
/* A count that must fit: fails when more items of at least min_item_bytes each cannot be in what is left. */
size_t unpack_count(struct unpacker *u, size_t min_item_bytes);
/* OK when nothing failed and nothing is left; ERR_MEMORY; ERR_INVALID "WHAT is damaged …" otherwise. */
enum status unpacker_end(const struct unpacker *u, const char *what, struct error *err) MUST_CHECK;
