/*
 * Job: the series that matchers choose, with their points of a window of time. The points of machines stay the machine's: to a matcher of
 *      the label training they are also, cut, those of each training that was on the machine at that time (the ledger of hosts).
 * Ownership: what is found lives until `take` returns. Threads: a worker.
 */
#pragma once

#include "prometheus/labels.h"
#include "state/streams/job_view.h"

struct pipeline;

struct prom_point {
	int64_t ts_ms;
	double value;
};

/* What one query may look at and keep, and for how long. */
struct prom_budget {
	size_t points, most_points; /* left, and as it was; cells of results count, too */
	size_t jobs, most_jobs;
	int64_t until_mono_ms;
};
/* ERR_TOO_LARGE, ERR_UNAVAILABLE */
enum status budget_take(struct prom_budget *budget, size_t points, struct error *err) MUST_CHECK;

struct series_reading {
	struct pipeline *pipeline;
	struct store_reader *reader;
	struct regex_scratch *scratch;
	struct prom_budget *budget;
	int64_t search_ms; /* for a search of jobs */
	struct prom_point *points; /* of the series at hand; freed by series_done */
	size_t point_count, point_cap;
};
void series_done(struct series_reading *reading);

struct series_asked {
	const struct matcher *matchers; /* prepared */
	size_t matcher_count;
	int64_t from_ms, to_ms; /* inclusive */
	bool needs_points; /* else series that have some in about that time */
};

/* labels: in the arena; reading->points: those of the window, by time, each time once. */
typedef enum status series_take(void *context, const struct prom_labels *labels, struct error *err);
enum status series_each(struct series_reading *reading, const struct series_asked *asked, struct arena *arena,
	series_take *take, void *context, struct error *err) MUST_CHECK;
