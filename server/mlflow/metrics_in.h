/*
 * Job: metrics as MLflow's clients log them, as points of a batch. Pure.
 * Ownership: names are copied into the batch. Threads: any.
 */
#pragma once

#include "base/json/json_read.h"
#include "model/metrics/batch.h"

/*
 * {"key", "value", "timestamp", "step"}, or a list of at most 1000 of them; all or, with ERR_SEMANTIC, the batch is of no use. A point
 * without a step, which comes as step 0, takes its series' own count. The same metric twice is one point, as in MLflow; and the part
 * is marked so that a request that is sent again is known.
 */
enum status metrics_in_read(const struct json *metrics, struct batch *batch, struct batch_part *part, int64_t now_ms,
	struct error *err) MUST_CHECK;
