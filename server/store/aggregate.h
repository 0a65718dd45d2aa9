/* Job: what groups of jobs come to. Ownership and threads: as store.h. */
#pragma once

#include "model/jobs/aggregate.h"
#include "model/query.h"
#include "store/search.h"
#include "store/store.h"

struct job_aggregation {
	const struct query_node *query; /* NULL: all */
	const struct aggregate_name *names; /* of the groups' keys */
	size_t name_count;
	const struct aggregate_figure *figures;
	size_t figure_count;
	const struct zone *zone; /* whose months and days; NULL: UTC */
	int64_t now_ms; /* until when jobs that run are counted */
	uint64_t max_groups;
	uint64_t max_periods; /* days or months of one job; one with more is left out and counted */
	uint64_t *too_long_jobs; /* so many; zeroed by the caller */
	uint64_t max_values; /* kept for medians and percentiles */
	int64_t time_ms; /* longer it must not take */
	bool wants_unpriced, wants_losses;
	const struct log_answers *logs; /* as in job_search */
};
struct job_group {
	struct span *keys; /* ptr NULL: jobs without one */
	size_t key_count;
	double *figures; /* NAN: no job of the group has a value */
	uint64_t unpriced_jobs; /* without a price: they are in no sum of costs. Counted where wants_unpriced. */
	struct span *unpriced_types; /* of these, each once */
	size_t unpriced_type_count;
	uint64_t estimated_jobs; /* whose costs are of nodes that were counted. Counted where wants_unpriced. */
	uint64_t unknown_losses; /* breaks that no sum of lost_steps has. Counted where wants_losses. */
};
/*
 * Over all jobs that match. By month or day a job is in each in which it ran; what adds up over time is shared among them: duration
 * by the clock, the rest as the job's days have it. ERR_SEMANTIC with the column: nobody groups by that, or there is no such quantity.
 */
enum status store_aggregate_jobs(struct store_reader *reader, struct arena *arena,
	const struct job_aggregation *aggregation, struct job_group **out, size_t *count, struct error *err) MUST_CHECK;
