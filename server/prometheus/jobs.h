/*
 * Job: the jobs that a query's matchers leave, one after the other.
 * Ownership: a name lives until `take` returns. Threads: a worker.
 */
#pragma once

#include "prometheus/matcher.h"
#include "prometheus/reading.h"

struct jobs_asked {
	const struct matcher *matchers; /* prepared */
	size_t matcher_count;
	struct span label; /* that is the job's name */
	bool has_machines; /* the jobs of machines are in it by "" */
	int64_t from_ms, to_ms;
};

typedef enum status jobs_take(void *context, struct span job, struct error *err);
/* ERR_TOO_LARGE: more than the budget has. */
enum status jobs_each(struct series_reading *reading, const struct jobs_asked *asked, jobs_take *take, void *context,
	struct error *err) MUST_CHECK;
/* As matcher_fits, of all that are of the label. */
enum status jobs_fit(const struct series_reading *reading, const struct jobs_asked *asked, struct span job, bool *fits,
	struct error *err) MUST_CHECK;
bool jobs_is_of_machines(struct span job);
