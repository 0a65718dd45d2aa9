/*
 * Job: the series that matchers choose, with their points of a window of time. The points of machines stay the machine's: to a matcher of
 *      the label training they are also, cut, those of each training that was on the machine at that time (the ledger of hosts).
 * Ownership: what is found lives until `take` returns. Threads: a worker.
 */
#pragma once

#include "prometheus/labels.h"
#include "prometheus/reading.h"

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
