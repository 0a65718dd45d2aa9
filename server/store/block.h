/*
 * Job: sealed lines of one stream: at most 1 MiB of text in one zstd frame, with flags and log times; the text comes back
 *      byte for byte. Pure encoding; the format number is the first byte.
 * Ownership: decoded lines point into `plain`, which the caller owns. Threads: values.
 */
#pragma once

#include "base/pack.h"
#include "base/zstd.h"
#include "model/batch.h"

enum { BLOCK_MAX_BYTES = 1 << 20 };

/* ts_ms of every line is set (NO_TIME is not stored: the sealer puts the line's effective log time). */
enum status block_pack(
	const struct line *lines, size_t count, struct zstd *zstd, struct buf *out, struct error *err) MUST_CHECK;
/* lines in the arena, texts in plain (cleared first); sent_bytes is not kept. ERR_INVALID: damaged. */
enum status block_unpack(struct span data, struct zstd *zstd, struct buf *plain, struct arena *arena,
	struct line **lines, size_t *count, struct error *err) MUST_CHECK;
