/*
 * Job: filters of log blocks that were sealed before there were filters (log_filter.h), a few blocks at a time. What is
 *      sealed now has its filter from the sealer, so one way through the database is all there is to do.
 * Ownership: a value. Threads: maintenance.
 */
#pragma once

#include "base/codec/zstd.h"
#include "store/blocks.h"
#include "store/store.h"

struct pipeline;

struct filter_sweep { /* zeroed, but for after.job_id: INT64_MIN */
	struct block_place after;
	bool is_done;
};

enum status filter_sweep_run(struct pipeline *pipeline, struct store_reader *reader, struct zstd *zstd,
	struct filter_sweep *sweep, struct error *err) MUST_CHECK;
