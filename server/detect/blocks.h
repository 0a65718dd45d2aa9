/*
 * Job: a noisy curve as medians of eight points each: a level that single points, and pairs of them, do not move.
 * Ownership: values. Threads: one at a time. Internal to detect/.
 * Deterministic: the same values in the same order give the same bits, also after pack and unpack.
 */
#pragma once

#include "base/codec/pack.h"

enum { BLOCK_POINTS = 8, BLOCK_RING = 32 };

struct blocks {
	float values[BLOCK_POINTS]; /* of the open block */
	uint32_t used;
	int64_t first_step; /* of the open block; when it is full, of that block */
	float medians[BLOCK_RING]; /* a ring of those that were kept; next is the oldest once it is full */
	uint32_t count;
	uint32_t next;
};

/* True: a block is full, *median is its. It is kept, or not, by the caller. Finite values only. */
bool blocks_add(struct blocks *blocks, double value, int64_t step, double *median);
void blocks_keep(struct blocks *blocks, double median);
/* The median of `count` kept ones, of which `skip` newer ones are left out; there must be so many. */
double blocks_level(const struct blocks *blocks, size_t skip, size_t count);
/* How far neighbouring medians of all that are kept are apart, as a standard deviation of one; a trend hardly adds to it. */
double blocks_spread(const struct blocks *blocks);
void blocks_clear(struct blocks *blocks);
void blocks_pack(const struct blocks *blocks, struct buf *out);
void blocks_unpack(struct blocks *blocks, struct unpacker *in);
