/*
 * Job: values without a step that lines of a job with a tracker's run have said, and which wait for a while: the tracker may be about to tell
 *      them itself, with their steps (docs/metrics.md, pipeline/consume/consume.h).
 * Ownership: a stream's own. Threads: under the stream's lock.
 * Not packed: a stream that holds values is not sealed, so a start reads their lines again.
 */
#pragma once

#include "base/buf.h"
#include "model/metrics/metric.h"
#include "model/metrics/point.h"

struct held_value {
	struct point point;
	int64_t arrival_ms;
};

struct held_series {
	uint32_t number; /* of the extractor */
	char *metric, *unit;
	struct metric_definition definition; /* name and unit are those above; no regular expression */
	enum role told_role; /* that the tracker's metric of it would have */
	int64_t due_ms; /* monotonic: then they are the log's own */
	struct held_value *values;
	size_t count, cap;
};

struct held_values {
	struct held_series *series;
	size_t count, cap;
	size_t value_count; /* of all series */
};

void held_series_done(struct held_series *series);
void held_values_done(struct held_values *held);
