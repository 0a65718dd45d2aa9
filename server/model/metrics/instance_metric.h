/*
 * Job: SageMaker's names of what is measured of a machine (namespace /aws/sagemaker/TrainingJobs, dimension Host), and the metrics of
 *      sm-ship --system that are the same. SageMaker adds up over devices; ours are one a device, and the mean of them is meant.
 * Ownership: none. Threads: any.
 */
#pragma once

#include "base/span.h"

struct instance_metric {
	const char *name, *metric;
	const char *
		total; /* the metric is a part of this one, and the name says how many percent; NULL: it says percent itself */
	bool is_of_gpus;
};

enum { INSTANCE_METRICS = 5 };
extern const struct instance_metric instance_metrics[INSTANCE_METRICS];

/* NULL: it is none. */
const struct instance_metric *instance_metric_named(struct span name);
const struct instance_metric *instance_metric_of(struct span metric);
