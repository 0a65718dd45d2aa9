/*
 * Job: points of a window of time by equal periods.
 * Ownership: the caller's. Threads: any.
 */
#pragma once

#include "read/charts/chart_query.h"
#include "state/streams/job_view.h"

struct pipeline;

/*
 * Points of a window of time by equal periods, of all attempts and in no order: those that lie in one period as far as pyramids have
 * them as one, the others one by one. query: metric, from and to.
 */
struct period_reading {
	int64_t origin_ms, period_ms;
	/* Finite values of one period, at a time in it; NULL: all come one by one. */
	void (*take_sum)(void *context, int64_t ts_ms, uint64_t count, struct sum sum, double min, double max);
	enum status (*take_point)(void *context, const struct point *point, struct error *err);
	void *context;
};

enum status periods_each(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	const struct job_view *view, const struct chart_query *query, const struct period_reading *asked,
	struct error *err) MUST_CHECK;
