/*
 * Job: what the query API is told at the start.
 * Ownership: the caller's. Threads: values.
 */
#pragma once

#include "store/store.h"

struct pipeline;

struct prometheus_options {
	struct pipeline *pipeline;
	size_t max_points; /* that one query may load, and cells of its results */
	size_t max_jobs; /* whose series one query may look at */
	int64_t search_ms; /* and so long it may take */
	int64_t search_cpu_ms; /* of a search of lines */
	struct store_reader *(*reader_of)(void *worker);
};
