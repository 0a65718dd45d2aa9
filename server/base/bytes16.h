/*
 * Job: 16 bytes at once, by the compiler's vectors: for what goes over every line. A comparison's bytes are 0 where it does not hold.
 * Ownership: values. Threads: any. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

typedef unsigned char bytes16 __attribute__((vector_size(16)));

static inline bytes16 bytes16_at(const void *at)
{
	bytes16 bytes;

	memcpy(&bytes, at, sizeof bytes);
	return bytes;
}

/* Letters of one case; what else falls together costs a look only. */
static inline bytes16 bytes16_folded_at(const void *at)
{
	return bytes16_at(at) | (unsigned char)0x20;
}

/* Is any of them not 0? */
static inline bool bytes16_has_any(bytes16 bytes)
{
	uint64_t halves[2];

	memcpy(halves, &bytes, sizeof halves);
	return (halves[0] | halves[1]) != 0;
}
