/*
 * Job: charts: points in buckets, from pyramids where there are any, else from points.
 * Ownership: a chart lives in its arena. Threads: any.
 */
#pragma once

#include "extract/derive.h"
#include "read/charts/chart_query.h"
#include "state/streams/job_view.h"

struct pipeline;
struct work_axis;

struct bucket {
	int64_t x; /* of its first point, and of the others */
	int64_t last_x, min_x, max_x;
	double first, last, min, max;
	struct sum sum;
	uint64_t count; /* finite values */
	uint64_t nan_count, inf_count, neg_inf_count;
	uint64_t min_line, max_line, first_line;
	uint32_t min_stream, max_stream, first_stream, last_stream; /* index into the view's streams */
	uint32_t attempt;
};

static inline struct sum sum_convert(struct sum sum, int factor)
{
	return (struct sum){time_unit_convert(sum.plain, factor), time_unit_convert(sum.huge, factor)};
}

/* Its values in another unit. */
static inline void bucket_convert(struct bucket *bucket, int factor)
{
	bucket->first = time_unit_convert(bucket->first, factor);
	bucket->last = time_unit_convert(bucket->last, factor);
	bucket->min = time_unit_convert(bucket->min, factor);
	bucket->max = time_unit_convert(bucket->max, factor);
	bucket->sum = sum_convert(bucket->sum, factor);
}

struct chart {
	struct span metric; /* the one that was found */
	struct span unit; /* of its first series: all others are shown in it; "": nobody says */
	struct bucket *buckets; /* only those that hold points, in order of x */
	size_t count;
	uint64_t total_points;
	int64_t bucket_width;
	struct job_view view;
	struct chart_link { /* of a chain: whose the next `buckets` buckets are; NULL else */
		struct span job;
		int64_t first_step;
		size_t buckets;
	} * links;
	size_t link_count;
	const struct work_axis *work; /* NULL, or x of its buckets is in tokens, each of which is so much on the axis */
};

enum status chart_read(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena, struct span job,
	const struct chart_query *query, struct chart *out, struct error *err) MUST_CHECK;

/* Where attempts began for a metric, of the stream that has most of them. */
struct attempt_starts chart_starts(const struct job_view *view, struct span metric);
