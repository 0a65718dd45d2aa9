/*
 * Job: sealed points of one series in columns: step, time, value, line, attempt, flags, each encoded for what it is (deltas of
 *      deltas, decimal mantissas, runs). Values come back bit for bit. Pure encoding; the format number is the first byte.
 * Ownership: the caller's memory. Threads: values.
 */
#pragma once

#include "base/codec/pack.h"
#include "base/codec/zstd.h"
#include "model/metrics/point.h"

enum { CHUNK_MAX_POINTS = 1024 };

enum status chunk_pack(
	const struct point *points, size_t count, struct zstd *zstd, struct buf *out, struct error *err) MUST_CHECK;
/* points has room for CHUNK_MAX_POINTS. ERR_INVALID: damaged. */
enum status chunk_unpack(
	struct span data, struct zstd *zstd, struct point *points, size_t *count, struct error *err) MUST_CHECK;
