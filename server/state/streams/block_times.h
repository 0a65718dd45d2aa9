/*
 * Job: the log times of the lines of one sealed block, for those who cannot do with its first and last one.
 * Ownership: nothing is kept. Threads: any.
 */
#pragma once

#include "base/codec/zstd.h"
#include "store/blocks.h"

/* take: of each line, in their order. A block that was deleted meanwhile has none, a damaged one those in front of the damage. */
enum status block_times_walk(struct store_reader *reader, struct zstd *zstd, int64_t job_id,
	const struct block_head *head, void (*take)(void *context, uint64_t line, int64_t ts_ms), void *context,
	struct error *err) MUST_CHECK;
