/*
 * Job: pyramids: made from sealed chunks by the maintenance thread, read by charts. They cover whole chunks only and follow
 *      the sealer at a distance; what they do not cover yet is read from the chunks, so nothing waits for them.
 * Ownership: everything of a plan is in its arena. Threads: making: maintenance; reading: any reader's.
 */
#pragma once

#include "read/charts/pyramid_read.h"

struct pipeline;

enum { PYRAMID_SLICE_POINTS = 32 * CHUNK_MAX_POINTS /* added in one transaction */ };

/* What one transaction changes. */
struct pyramid_plan;
struct pyramid_plan *pyramid_plan_new(struct arena *arena) __attribute__((warn_unused_result));
/*
 * Of a plan that only asks, while the reader asks ahead (store_reader_ahead_begin): its series read what is known, and ask for the next.
 * After PYRAMID_ROUNDS such plans all is known that a plan of the same series reads. What they fail with means nothing.
 */
enum { PYRAMID_ROUNDS = 3 };
void pyramid_plan_ask(struct pyramid_plan *plan);
/* Adds what a series' pyramid lacks, a slice at most; nothing when it lags by less than PYRAMID_LAG_POINTS. */
enum status pyramid_plan_series(struct pyramid_plan *plan, struct store_reader *reader, struct zstd *zstd,
	int64_t job_id, uint32_t series_id, uint64_t sealed_points, struct error *err) MUST_CHECK;
bool pyramid_plan_is_empty(const struct pyramid_plan *plan);
/* Into an open transaction; what belongs to a job that was deleted since is left out. */
enum status pyramid_plan_write(const struct pyramid_plan *plan, struct store_tx *tx, struct error *err) MUST_CHECK;
/* In one of its own, by the writer. */
enum status pyramid_plan_run(struct pipeline *pipeline, struct pyramid_plan *plan, struct error *err) MUST_CHECK;

/* Looks at the next series of the database and builds what one lacks; *is_found: it did something. Called again and again. */
struct pyramid_sweep {
	int64_t job_id;
	uint32_t series_id;
};
enum status pyramid_sweep(struct pipeline *pipeline, struct store_reader *reader, struct zstd *zstd,
	struct pyramid_sweep *sweep, bool *is_found, struct error *err) MUST_CHECK;
