/*
 * Job: which metric answers for a role, and which one a name means.
 * Ownership: lives in the arena. Threads: any.
 */
#pragma once

#include "read/chart_query.h"
#include "state/streams/job_view.h"

/* The metric that answers for a role (model/main_metric.h); view: with its series. "": none does. */
enum status pipeline_find_main(struct store_reader *reader, struct arena *arena, const struct job_view *view,
	enum role role, struct span *metric, struct error *err) MUST_CHECK;
enum status pipeline_find_mains(struct store_reader *reader, struct arena *arena, const struct job_view *view,
	struct span mains[ROLE_COUNT], struct error *err) MUST_CHECK;

/* By its name (which, said without labels, means those with labels, too), else by the name of a role: the name of the metric that is meant. */
enum status pipeline_resolve_metric(struct store_reader *reader, struct arena *arena, const struct job_view *view,
	const struct chart_query *query, struct span *metric, struct error *err) MUST_CHECK;
