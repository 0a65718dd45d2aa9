/*
 * Job: a column of integers in few bits: what a straight line or the value before does not foretell is written by a Rice
 *      code, whose width suits the column. Pure encoding.
 * Ownership: the caller's memory. Threads: values.
 * Source: R. F. Rice, "Some practical universal noiseless coding techniques" (1979).
 */
#pragma once

#include "base/codec/pack.h"

/* scratch has room for count items. */
void column_pack(struct buf *out, const int64_t *values, size_t count, uint64_t *scratch);
/* Damage is noted in the unpacker. */
void column_unpack(struct unpacker *in, int64_t *values, size_t count);
