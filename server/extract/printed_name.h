/*
 * Job: what a name that a log prints becomes: the metric that the generic reader keeps its values as, where the name alone says it and the
 *      value stays as it is. `tokens_per_second` is train:throughput in tokens/s, `val_loss` is val:loss.
 * Ownership: static. Threads: any. Pure.
 */
#pragma once

#include "model/metrics/metric.h"

/* NULL: it stays as it is called, or what it becomes depends on a unit beside it. A unit of "" says nothing. */
const struct metric_definition *printed_name_find(struct span name);
/* Are the values of a metric, with whatever labels, those that the log prints by that name? */
bool printed_name_is(struct span name, struct span metric, struct span unit);
