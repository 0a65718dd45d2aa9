/*
 * Job: what reads on behalf of one query share: the database, what the query may still cost, and the points of the series at hand.
 * Ownership: the caller's; series_done frees the points. Threads: a worker.
 */
#pragma once

#include "base/error.h"
#include "base/text/regex.h"
#include "store/store.h"

struct pipeline;

struct prom_point {
	int64_t ts_ms;
	double value;
};

enum { PROM_POINT_BYTES = sizeof(struct prom_point) }; /* a point of the budget is so much memory */

/* What one query may look at and keep, and for how long. */
struct prom_budget {
	size_t points, most_points; /* left, and as it was; cells of results count, too */
	size_t jobs, most_jobs;
	int64_t until_mono_ms;
};
/* ERR_TOO_LARGE, ERR_UNAVAILABLE */
enum status budget_take(struct prom_budget *budget, size_t points, struct error *err) MUST_CHECK;
/* The time alone, for work that takes none of the others: ERR_UNAVAILABLE. */
enum status budget_check(const struct prom_budget *budget, struct error *err) MUST_CHECK;

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
