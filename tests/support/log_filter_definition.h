/*
 * Job: what a log filter of format 1 is, said byte by byte and without any care for speed: log_filter_pack must give these bytes. For a
 *      unit test and a fuzz target.
 * Ownership: appends to the caller's buffer. Threads: pure.
 */
#pragma once

#include "base/alloc.h"
#include "base/buf.h"
#include "base/codec/pack.h"

enum { DEFINED_TRIGRAMS = 1 << 16, DEFINED_TOKENS = 1 << 20 };

struct defined_sets {
	bool trigrams[DEFINED_TRIGRAMS], tokens[DEFINED_TOKENS], fractions[DEFINED_TOKENS];
};

static inline unsigned char defined_fold(char c)
{
	return (unsigned char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
}

static inline bool defined_is_word(char c)
{
	return (c >= '0' && c <= '9') || (defined_fold(c) >= 'a' && defined_fold(c) <= 'z') || c == '_';
}

static inline bool defined_is_barred(char c)
{
	return (c >= '0' && c <= '9') || c == '\n';
}

static inline void defined_read(struct span text, struct defined_sets *sets)
{
	for (size_t i = 2; i < text.len; i++) {
		const char *three = text.ptr + i - 2;
		uint32_t bytes = (uint32_t)defined_fold(three[0]) << 16 | (uint32_t)defined_fold(three[1]) << 8 |
				 defined_fold(three[2]);
		if (!defined_is_barred(three[0]) && !defined_is_barred(three[1]) && !defined_is_barred(three[2]))
			sets->trigrams[bytes * 0x9e3779b1u >> 16] = true;
	}
	for (size_t i = 0, end; i < text.len; i = end + 1) {
		uint32_t hash = 0x1505;
		for (end = i; end < text.len && defined_is_word(text.ptr[end]); end++)
			hash = (hash ^ defined_fold(text.ptr[end])) * 0x01000193u;
		hash = (hash ^ hash >> 15) * 0x85ebca6bu >> 12;
		if (end > i)
			(i && text.ptr[i - 1] == '.' ? sets->fractions : sets->tokens)[hash] = true;
	}
}

static inline void defined_bloom(const bool *keys, size_t key_bits, unsigned hashes, struct buf *out)
{
	size_t count = 0;

	for (uint32_t key = 0; key < DEFINED_TOKENS; key++)
		count += keys[key];
	size_t bytes = (count * key_bits + 7) / 8, start;
	pack_u64(out, bytes);
	start = out->len;
	for (size_t i = 0; i < bytes; i++)
		buf_append_char(out, 0);
	for (uint32_t key = 0; key < DEFINED_TOKENS; key++)
		for (unsigned i = 0; keys[key] && i < hashes; i++) {
			uint64_t mixed = (key + 1) * 0x9e3779b97f4a7c15u;
			uint32_t at = (uint32_t)(mixed >> 32) + i * ((uint32_t)mixed | 1);
			size_t bit = (size_t)((uint64_t)at * (bytes * 8) >> 32);
			out->ptr[start + bit / 8] = (char)(out->ptr[start + bit / 8] | 1 << bit % 8);
		}
}

static inline void defined_trigrams(bool *set, struct buf *out)
{
	unsigned bits = 16;

	for (;; bits--) {
		size_t count = 0;
		for (size_t i = 0; i < 1u << bits; i++)
			count += set[i];
		if (bits == 6 || count * 16 >= 1u << bits)
			break;
		for (size_t i = 0; i < 1u << (bits - 1); i++)
			set[i] |= set[i + (1u << (bits - 1))];
	}
	buf_append_char(out, (char)bits);
	for (size_t i = 0; i < 1u << bits; i += 8) {
		unsigned byte = 0;
		for (unsigned bit = 0; bit < 8; bit++)
			byte |= (unsigned)set[i + bit] << bit;
		buf_append_char(out, (char)byte);
	}
}

/* False: there is no memory for it. */
static inline bool log_filter_define(struct span text, struct buf *out)
{
	AUTO_MEM struct defined_sets *sets = mem_zeroed(sizeof *sets);

	if (!sets)
		return false;
	defined_read(text, sets);
	buf_append_char(out, 1);
	defined_trigrams(sets->trigrams, out);
	defined_bloom(sets->tokens, 6, 4, out);
	defined_bloom(sets->fractions, 3, 2, out);
	return buf_status(out, NULL) == OK;
}
