/*
 * Job: what is kept of a job to compare the pace of its streams; stragglers.h fills it.
 * Ownership: a job's. Threads: maintenance.
 */
#pragma once

#include "base/alloc.h"
#include "detect/pace_watch.h"
#include "model/incident.h"
#include "model/metrics/metric.h"

struct stragglers {
	struct pace_watch *watch;
	char *metric; /* whose pace is compared: a step time, else a throughput */
	enum role role;
	struct incident incident; /* the last that opened */
};

void stragglers_free(struct stragglers *stragglers);

AUTO_TYPE(stragglers)
