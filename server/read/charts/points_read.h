/*
 * Job: points one by one, in order of arrival.
 * Ownership: a batch lives in its arena. Threads: any.
 */
#pragma once

#include "model/metrics/point.h"
#include "read/charts/chart_query.h"
#include "store/store.h"

struct pipeline;

/* A batch of the points of one stream, in order of arrival; ordinal 0, then next_ordinal, until is_end. metric is a name, axis
 * AXIS_STEP or AXIS_TIME; points that the query does not ask are left out, so a batch may be empty. */
struct points_batch {
	struct point *points;
	size_t count;
	uint64_t next_ordinal;
	bool is_end;
	/* With other ones, ordinals are other points': a back-fill took its place. */
	uint32_t generation; /* of the job's definitions */
	uint32_t series_base; /* of the stream */
};

enum status points_read(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena, struct span job,
	struct span stream, const struct chart_query *query, uint64_t ordinal, struct points_batch *out,
	struct error *err) MUST_CHECK;

/* All of them, a batch at a time, to `take`; ends early when that is not OK. */
enum status points_read_all(struct pipeline *pipeline, struct store_reader *reader, struct span job, struct span stream,
	const struct chart_query *query,
	enum status (*take)(void *context, const struct point *point, struct error *err), void *context,
	struct error *err) MUST_CHECK;
