/*
 * Job: pyramids: made from sealed chunks by the maintenance thread, read by charts. They cover whole chunks only and follow
 *      the sealer at a distance; what they do not cover yet is read from the chunks, so nothing waits for them.
 * Ownership: everything of a plan is in its arena. Threads: making: maintenance; reading: any reader's.
 */
#pragma once

#include "pipeline/internal.h"
#include "store/pyramid.h"

enum {
	PYRAMID_LAG_POINTS = 2 * CHUNK_MAX_POINTS, /* so many sealed points may be without */
	PYRAMID_SLICE_POINTS = 32 * CHUNK_MAX_POINTS, /* added in one transaction */
	PYRAMID_BASE_POINTS = 64, /* in a bucket of the lowest level */
};

/* What one transaction changes. */
struct pyramid_plan;
struct pyramid_plan *pyramid_plan_new(struct arena *arena) __attribute__((warn_unused_result));
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

/* ---- pyramid_read.c ---- */

/* What of a series is asked, and who takes it. */
struct pyramid_reading {
	struct store_reader *reader;
	struct zstd *zstd;
	int64_t job_id;
	uint32_t series_id;
	enum pyramid_axis axis;
	int64_t from, to; /* inclusive */
	unsigned level; /* a bucket that is given is at most 2^level wide */
	/* NULL: every bucket does; false: it is given in parts, at last point by point. */
	bool (*fits)(void *context, const struct pyramid_bucket *bucket);
	/* *last_step: points of the attempt behind it are not wanted; false: none of them is. */
	bool (*wants_attempt)(void *context, uint32_t attempt, int64_t *last_step);
	void (*take_bucket)(void *context, uint32_t attempt, const struct pyramid_bucket *bucket);
	void (*take_point)(void *context, const struct point *point);
	void *context;
};
/* Gives every wanted point before *covered once, alone or in a bucket. *covered 0: there is no pyramid. */
enum status pyramid_read(const struct pyramid_reading *reading, uint64_t *covered, struct error *err) MUST_CHECK;
/* The lowest level that the series' pyramid has on this axis; 0 when there is none. */
enum status pyramid_base(struct store_reader *reader, int64_t job_id, uint32_t series_id, enum pyramid_axis axis,
	unsigned *base, struct error *err) MUST_CHECK;
