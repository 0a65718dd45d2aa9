/*
 * Job: reads the pyramids of a series: points in buckets, where readers take no harm, else one by one.
 * Ownership: the caller's. Threads: any reader's.
 */
#pragma once

#include "base/codec/zstd.h"
#include "model/metrics/point.h"
#include "store/pack/chunk.h"
#include "store/pack/pyramid.h"
#include "store/store.h"

enum {
	PYRAMID_LAG_POINTS = 2 * CHUNK_MAX_POINTS, /* so many sealed points may be without */
	PYRAMID_BASE_POINTS = 64 /* in a bucket of the lowest level */
};

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
