/*
 * Job: what a stream's name says. "system/HOST" is what sm-ship --system measures of a machine: it is no rank, nothing in
 *      its lines is a metric of the training, and its series are not summed up as the job's.
 * Ownership: none. Threads: any.
 */
#pragma once

#include "base/span.h"

/* algo-1-1700000000: SageMaker ends the name with when the stream was made. Cuts that off and returns it; "": there is none. */
struct span stream_cut_suffix(struct span *name);
/* The container's: 3 of algo-3, of algo-3-r5 of a rank, and of algo-3-1714564800000; 0: it is none of SageMaker's. */
int64_t stream_algo_number(struct span name);

/* The instance of SagemakerHealthMonitoringAgent/GROUP/INSTANCE, in which HyperPod's agent tells of one machine's health; "": it is another. */
struct span stream_health_host(struct span name);

static inline bool stream_is_system(struct span name)
{
	return span_starts_with(name, SPAN("system/"));
}

/* What run.alert() says, which is somebody's prose about the training. */
#define STREAM_OF_ALERTS "alerts"

static inline bool stream_is_alerts(struct span name)
{
	return span_equal(name, SPAN(STREAM_OF_ALERTS));
}

/* Its lines are read for metrics, settings and statuses. Others are kept, searched and looked through for signatures alone. */
static inline bool stream_is_log(struct span name)
{
	return !stream_is_system(name) && !stream_is_alerts(name);
}
