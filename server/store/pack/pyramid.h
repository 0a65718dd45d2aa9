/*
 * Job: buckets of points along an axis, and how a row of them and the head of a series are written. A bucket keeps what no
 *      downsampling may hide: first, last, smallest and largest value with their place, and how many were not finite.
 *      Pure; the format number is the first byte.
 * Ownership: the caller's memory. Threads: values.
 */
#pragma once

#include "model/metrics/point.h"
#include "store/pack/double_column.h"

enum pyramid_axis { PYRAMID_STEP, PYRAMID_TIME };

enum {
	PYRAMID_ROW_BITS = 8,
	PYRAMID_ROW_BUCKETS = 1 << PYRAMID_ROW_BITS,
	PYRAMID_LEVEL_STEP = 2, /* each level's buckets are four times as wide */
	PYRAMID_LEVEL_MAX = 54, /* with the bits of a row this is still a shift */
};

struct pyramid_bucket {
	int64_t number; /* x / width, rounded down */
	int64_t first_x, last_x; /* smallest and largest */
	int64_t min_x, max_x; /* of the smallest and largest finite value; of equal ones the first along x */
	int64_t min_step, max_step; /* smallest and largest step: is the bucket cut by a restart? */
	uint64_t first_ordinal, last_ordinal; /* smallest and largest */
	double first, last; /* of any kind */
	double min, max; /* finite; nothing while count == 0 */
	struct sum sum; /* of finite values */
	uint64_t count; /* of finite values */
	uint64_t nan_count, inf_count, neg_inf_count;
	uint64_t first_line, min_line, max_line;
};

static inline int64_t pyramid_x(enum pyramid_axis axis, const struct point *point)
{
	return axis == PYRAMID_STEP ? point->step : point->ts_ms;
}

/* A bucket of one point. */
void pyramid_bucket_open(
	struct pyramid_bucket *bucket, int64_t number, int64_t x, uint64_t ordinal, const struct point *point);
/* Of two buckets of one number: `from` came later. */
void pyramid_bucket_merge(struct pyramid_bucket *into, const struct pyramid_bucket *from);

/* Room for what packing needs. */
struct pyramid_work {
	struct values_work values;
	double doubles[PYRAMID_ROW_BUCKETS];
};

/* At most PYRAMID_ROW_BUCKETS, in the order of their numbers. */
void pyramid_row_pack(
	struct buf *out, const struct pyramid_bucket *buckets, size_t count, unsigned level, struct pyramid_work *work);
/* buckets has room for PYRAMID_ROW_BUCKETS. ERR_INVALID: damaged. */
enum status pyramid_row_unpack(
	struct span data, unsigned level, struct pyramid_bucket *buckets, size_t *count, struct error *err) MUST_CHECK;

/* One (attempt, axis) of a series. */
struct pyramid_head {
	uint32_t attempt;
	enum pyramid_axis axis;
	unsigned base, top; /* levels: base, base + 2 ... top */
	int64_t min_x, max_x;
};

void pyramid_heads_pack(struct buf *out, const struct pyramid_head *heads, size_t count);
/* *heads is in the arena, in the order of the attempts. */
struct arena;
enum status pyramid_heads_unpack(struct span data, struct arena *arena, struct pyramid_head **heads, size_t *count,
	struct error *err) MUST_CHECK;
