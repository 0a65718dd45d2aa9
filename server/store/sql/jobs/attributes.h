/*
 * Job: the rows by which jobs are searched: leaves of the document, settings out of the log. Ownership: values. Threads: the writer's.
 */
#pragma once

#include "store/job_facts.h"
#include "store/store.h"

/* Replaces the job's rows by the leaves of the document and the settings out of its log. */
enum status attributes_put(struct store_tx *tx, int64_t job_id, struct span document, struct error *err) MUST_CHECK;
/* The attribute FailureClass: what model/jobs/failure.h makes of the reason; none of no reason. */
enum status attributes_put_failure(
	struct store_tx *tx, int64_t job_id, struct span reason, struct error *err) MUST_CHECK;
/* A setting out of the log: hp.KEY, unless the document states one. */
enum status attributes_put_found(
	struct store_tx *tx, int64_t job_id, const struct setting_row *row, struct error *err) MUST_CHECK;
