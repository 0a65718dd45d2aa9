/*
 * Job: the points of one series after the other, sealed ones from their chunks and then the tail, to whom they are wanted by.
 * Ownership: the caller's. Threads: any reader's.
 */
#pragma once

#include "base/codec/zstd.h"
#include "read/charts/chart_query.h"
#include "state/streams/job_view.h"

/* x: on the query's axis. */
typedef enum status points_walk_take(void *context, const struct stream_view *stream, const struct series_view *series,
	const struct point *point, int64_t x, struct error *err);

struct points_walk {
	struct store_reader *reader;
	const struct job_view *view;
	const struct chart_query *query;
	points_walk_take *take;
	void *context;
	struct zstd *zstd;
	int64_t origin_ms;
	bool skips; /* chunks outside the window are not read at all; of AXIS_STEP and AXIS_TIME. That one is missing is not noticed then */
};

/* From an ordinal on. points: room for CHUNK_MAX_POINTS. */
enum status points_walk_series(struct points_walk *walk, const struct stream_view *stream,
	const struct series_view *series, uint64_t from_ordinal, struct point *points, struct error *err) MUST_CHECK;
/* Every point of the window in order of arrival, stream after stream, to `take`; ends early when that is not OK. */
enum status points_walk_all(struct store_reader *reader, struct arena *arena, const struct job_view *view,
	const struct chart_query *query, points_walk_take *take, void *context, struct error *err) MUST_CHECK;
/* The same of AXIS_STEP or AXIS_TIME where the window is small: what is sealed outside it is not read. That some is missing is not noticed then. */
enum status points_walk_window(struct store_reader *reader, struct arena *arena, const struct job_view *view,
	const struct chart_query *query, points_walk_take *take, void *context, struct error *err) MUST_CHECK;
