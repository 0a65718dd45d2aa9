/*
 * Job: what a stream's name says. "system/HOST" is what sm-ship --system measures of a machine: it is no rank, nothing in
 *      its lines is a metric of the training, and its series are not summed up as the job's.
 * Ownership: none. Threads: any.
 */
#pragma once

#include "base/span.h"

static inline bool stream_is_system(struct span name)
{
	return span_starts_with(name, SPAN("system/"));
}
