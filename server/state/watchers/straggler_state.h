/*
 * Job: what is kept of a job to compare the pace of its streams; stragglers.h fills it.
 * Ownership: a job's. Threads: maintenance.
 */
#pragma once

#include "base/alloc.h"
#include "detect/pace_watch.h"
#include "model/incident.h"
#include "model/metrics/metric.h"

enum { PACE_METRICS_MAX = 32 }; /* of a job; those that come later are not compared */

struct slow_stream {
	size_t lane;
	struct incident incident;
};

/* A metric by which streams tell their pace: all are compared, and what comes of it is said of one alone. */
struct pace_metric {
	char *name;
	enum role role;
	struct pace_watch *watch;
	struct slow_stream *slow; /* whose incidents are open */
	size_t slow_count, slow_cap;
};

struct stragglers {
	struct pace_metric *metrics;
	size_t count, cap;
	size_t leader; /* the one of them that is said */
};

void stragglers_free(struct stragglers *stragglers);

AUTO_TYPE(stragglers)
