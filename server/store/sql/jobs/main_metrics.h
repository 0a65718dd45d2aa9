/*
 * Job: which metric of a job answers for a role: its main loss, its main throughput. Ownership: values. Threads: the writer's.
 */
#pragma once

#include "model/metrics/metric.h"
#include "store/job_facts.h"
#include "store/store.h"

/* For each row the role that it answers for, or ROLE_OTHER; *out is the caller's also after a failure. */
enum status main_metrics_of(
	const struct summary_row *rows, size_t count, enum role **out, struct error *err) MUST_CHECK;
/* Where a program with another rule has decided: anew. */
enum status main_metrics_renew(struct store *store, struct error *err) MUST_CHECK;
