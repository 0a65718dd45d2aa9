/*
 * Job: metrics as MLflow's clients log them, as points of a batch. Pure.
 * Ownership: names are copied into the batch. Threads: any.
 */
#pragma once

#include "base/json/json_read.h"
#include "model/metrics/batch.h"
#include "model/metrics/point.h"

/* Is this very point of the metric stored? asked: its value, ts_ms and step. */
struct metrics_stored {
	enum status (*has)(void *context, struct span key, const struct point *asked, bool *out, struct error *err);
	void *context;
};

/*
 * {"key", "value", "timestamp", "step"}, or a list of at most 1000 of them; all or, with ERR_SEMANTIC, the batch is of no use. A point
 * without a step, which comes as step 0, takes its series' own count. The same metric twice is one point, as in MLflow; and the part
 * is marked so that a request that is sent again is known. A metric that bears the id of a model may be one of the run's that is logged once
 * more for it, among others: it is left out if it is stored.
 */
enum status metrics_in_read(const struct json *metrics, const struct metrics_stored *stored, struct batch *batch,
	struct batch_part *part, int64_t now_ms, struct error *err) MUST_CHECK;
