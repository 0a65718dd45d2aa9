/*
 * Job: what charts and heat maps share: the points of a metric by buckets of one width, from pyramids where there are any, else from points.
 * Ownership: the caller's. Threads: any reader's.
 */
#pragma once

#include "read/charts/points_walk.h"
#include "store/pack/pyramid.h"

struct folding {
	struct store_reader *reader;
	struct zstd *zstd;
	const struct job_view *view;
	const struct chart_query *query; /* AXIS_STEP or AXIS_TIME */
	/* context: this folding, the first member of what its owner folds into. Values are in the unit of the series at work: time_unit_convert by
	 * `factor` makes those of `first`. */
	void (*take_bucket)(void *context, uint32_t attempt, const struct pyramid_bucket *bucket);
	void (*take_point)(void *context, const struct point *point);

	/* What folding_lay_out finds. */
	enum pyramid_axis axis;
	unsigned shift; /* widths are powers of two, anchored at 0: buckets never reshuffle as points come */
	int64_t first_number; /* x >> shift of the first bucket */
	size_t size; /* 0: there are no points */
	struct point *points; /* room for a chunk */

	/* While folding_fold_stream goes on. */
	const struct stream_view *stream;
	const struct series_view *first; /* of all that were folded; NULL: none yet */
	struct attempt_starts starts; /* of the series at work */
	int factor; /* from its unit to that of `first` */
};

/* As many buckets as the query asks for at most, over the range of x that the points have. */
enum status folding_lay_out(struct folding *folding, struct arena *arena, struct error *err) MUST_CHECK;
/* Gives what is wanted of a stream to take_bucket and take_point. */
enum status folding_fold_stream(
	struct folding *folding, const struct stream_view *stream, struct error *err) MUST_CHECK;

/* Which bucket; `size`: none, since it came after the range was taken: the next look shows it. */
static inline size_t folding_place(const struct folding *folding, int64_t x)
{
	uint64_t at = (uint64_t)(x >> folding->shift) - (uint64_t)folding->first_number;

	return at < folding->size ? (size_t)at : folding->size;
}
