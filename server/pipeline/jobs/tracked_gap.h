/*
 * Job: was a tracked run silent before another process goes on with it? (pipeline/life/run_gap.h)
 * Ownership: none. Threads: said at each.
 */
#pragma once

#include "store/jobs.h"

struct pipeline;

/* Any thread. *from_ms: its last sign of life, if it goes on at at_ms after a silence, and nobody but its client said that it trains; else 0. */
enum status tracked_gap_find(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	const struct job_row *job, int64_t at_ms, int64_t *from_ms, struct error *err) MUST_CHECK;
/* The writer's transaction that says that it goes on. */
enum status tracked_gap_cut(struct pipeline *pipeline, struct store_tx *tx, struct arena *arena,
	const struct job_row *job, int64_t at_ms, struct error *err) MUST_CHECK;
