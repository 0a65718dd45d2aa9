/*
 * Job: heat maps: the streams of a job beside each other.
 * Ownership: a map lives in its arena. Threads: any.
 */
#pragma once

#include "read/charts/chart_query.h"
#include "state/streams/job_view.h"

struct pipeline;

/* Means by stream and bucket. AXIS_STEP or AXIS_TIME; the query's stream is not looked at. */
struct heat {
	struct span metric; /* the one that was found */
	const struct series_view *series; /* the first of it: in its unit are all means */
	double *means; /* row by row; NaN: no point there, infinite: none that is finite */
	uint32_t *row_streams; /* of each row, index into the view's streams; those without a point have none */
	size_t row_count, columns;
	int64_t first_x; /* where the first column begins; each is bucket_width wide */
	int64_t bucket_width;
	struct job_view view;
};

enum status heat_read(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena, struct span job,
	const struct chart_query *query, struct heat *out, struct error *err) MUST_CHECK;
