/*
 * Job: the points of a series as an object of JSON columns, whatever batches they come in: what fits is kept until it is whole, and a longer
 *      series is read once more for each column, so that memory is bounded.
 * Ownership: what is kept lives in the arena. Threads: one at a time.
 */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "read/charts/points_read.h"
#include "read/charts/work_axis.h"

struct points_columns {
	const char *work_name; /* of a last column: NULL, "tokens" or "flops" */
	const struct work_axis *work;
	struct point *kept;
	size_t kept_count;
	bool is_long; /* it does not fit */
	bool has_before; /* a series was written */
	unsigned column; /* at work */
	uint64_t count; /* of the series, once its first column is written */
	uint64_t written; /* of this column */
	uint64_t hash, first_hash; /* of these points */
};

/* Which points it wants next. */
enum columns_want { COLUMNS_NEXT, COLUMNS_FROM_FIRST, COLUMNS_DONE };

/* Tokens or FLOPs at the step of the point. */
double points_work_of(const struct work_axis *work, const struct point *point);
/* After COLUMNS_DONE it is ready for another series, and `count` is how many points this one had. */
enum status points_columns_take(struct points_columns *columns, struct arena *arena, struct span metric,
	struct span stream, const struct points_batch *batch, struct buf *out, enum columns_want *want,
	struct error *err) MUST_CHECK;
