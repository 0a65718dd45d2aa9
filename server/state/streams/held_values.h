/*
 * Job: values without a step that lines of a job with a tracker's run have said, and which wait for a while: the tracker may be about to tell
 *      them itself, with their steps (docs/metrics.md, pipeline/consume/consume.h).
 * Ownership: a series' own. Threads: under its stream's lock.
 * Not packed: a stream that holds values is not sealed, so a start reads their lines again. Their series has its number from the first of them
 * on, whatever becomes of them: numbers are the same after every replay.
 */
#pragma once

#include "model/metrics/metric.h"
#include "model/metrics/point.h"

struct held_value {
	struct point point;
	int64_t arrival_ms;
	enum role role; /* of the series, where the value becomes a point */
	enum role told_role; /* that the tracker's metric of it would have */
	bool is_told; /* no number of a metric that the tracker tells: it may tell this, too */
	bool is_alone; /* of a metric that the tracker told until its run ended: it was printed behind that */
};

struct held_values {
	struct held_value *values;
	size_t count, cap;
	int64_t due_ms; /* monotonic: then they are the log's own */
	unsigned life, period; /* in which they were said */
};
