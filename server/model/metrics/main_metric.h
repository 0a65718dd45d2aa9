/*
 * Job: which of a job's metrics answers for a role ("the loss"). Pure: the same metrics give the same answer, whatever order they
 * come in. Spans are borrowed. Any thread.
 */
#pragma once

#include "model/metrics/metric.h"

struct metric_candidate {
	struct span metric;
	struct span unit;
	enum role role;
	uint64_t count; /* points, of all streams */
};

/*
 * Raised when the rule changes: what a database holds by an older one is decided again when it is opened. Since 2 there are roles
 * of post-training, and a metric that has the name of one answers for it; since 3 not by one point alone.
 */
enum { MAIN_METRIC_RULE = 3 };

/* 0: the name says no more than the role; from MAIN_METRIC_PART on it is a part of it, of one rank, or derived. */
enum { MAIN_METRIC_PART = 10 };
int main_metric_rank(enum role role, const struct metric_candidate *candidate);

/*
 * The metric of exactly the role's name, unless it is one point beside a curve; else, of the role's metrics, one that is printed
 * about as often as any of them and says the least beside the role: train/loss before moe_aux_loss, tokens/s before TFLOP/s, what
 * a job says itself before what is derived from it. count: none.
 */
size_t main_metric_find(enum role role, const struct metric_candidate *candidates, size_t count);
