/*
 * Job: a column of doubles that come back bit for bit: as integers times one power of ten where they were printed so, with
 *      exceptions beside them, else their raw bits in planes. Pure encoding.
 * Ownership: the caller's memory. Threads: values.
 */
#pragma once

#include "base/text/decimal.h"
#include "base/codec/pack.h"

enum { VALUES_MAX = 1024 };

/* What encoding needs beside its input; too large for a stack that others share. */
struct values_work {
	uint64_t scratch[VALUES_MAX];
	int64_t column[VALUES_MAX];
	struct decimal decimals[VALUES_MAX];
	bool is_exception[VALUES_MAX];
	size_t exception_count;
};

/* count is at most VALUES_MAX. */
void values_pack(struct buf *out, const double *values, size_t count, struct values_work *work);
/* Damage is noted in the unpacker. column: scratch for count items. */
void values_unpack(struct unpacker *in, double *values, size_t count, int64_t *column);
