/*
 * Job: which metric answers for a role, and which one a name means.
 * Ownership: lives in the arena. Threads: any.
 */
#pragma once

#include "read/charts/chart_query.h"
#include "state/streams/job_view.h"

/* The metric that answers for a role (model/metrics/main_metric.h); view: with its series. "": none does. */
enum status main_series_find(struct store_reader *reader, struct arena *arena, const struct job_view *view,
	enum role role, struct span *metric, struct error *err) MUST_CHECK;
enum status main_series_find_all(struct store_reader *reader, struct arena *arena, const struct job_view *view,
	struct span mains[ROLE_COUNT], struct error *err) MUST_CHECK;

/* By its name (which, said without labels, means those with labels, too), else by the name of a role, or as the log prints it
 * (extract/printed_name.h): the name of the metric that is meant. */
enum status main_series_resolve(struct store_reader *reader, struct arena *arena, const struct job_view *view,
	const struct chart_query *query, struct span *metric, struct error *err) MUST_CHECK;
