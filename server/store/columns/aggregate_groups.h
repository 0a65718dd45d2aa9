/*
 * Job: rows of jobs into groups, and what each group comes to: the part of an aggregation that is the same over any database.
 * Ownership: new/free; what groups_finish gives is in the caller's arena. Threads: one at a time. Pure.
 */
#pragma once

#include "base/error.h"
#include "store/aggregate.h"
#include "store/store.h"

struct groups;

enum status groups_new(struct groups **out, const struct job_aggregation *aggregation, struct error *err) MUST_CHECK;
void groups_free(struct groups *groups);

/* What sums leave out of a job, or do not know well. */
struct job_gaps {
	struct span unpriced; /* types without a price, spaces between them */
	bool is_estimated; /* its cost is of nodes that were counted */
	uint64_t unknown_losses; /* breaks of which nobody knows how many steps they lost */
};
/*
 * One job's figures into the group of these keys (ptr NULL: it has none of that). Jobs come one behind the other: a second row of
 * the same job and group changes nothing. values: one a figure; NAN: the job has none. ERR_TOO_LARGE: too
 * many groups or values.
 */
enum status groups_add(struct groups *groups, int64_t job_id, const struct span *keys, const double *values,
	const struct job_gaps *gaps, struct error *err) MUST_CHECK;
/* By key, those without one last. */
enum status groups_finish(struct groups *groups, struct arena *arena, struct job_group **out, size_t *count,
	struct error *err) MUST_CHECK;

AUTO_TYPE(groups)
