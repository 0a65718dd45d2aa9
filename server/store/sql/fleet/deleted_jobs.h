/*
 * Job: what the fleet's sums do with a job that is about to be deleted. Ownership: values. Threads: the writer's.
 */
#pragma once

#include "store/store.h"

/* It counts no more. */
enum status fleet_forget_job(struct store_tx *tx, int64_t job_id, struct error *err) MUST_CHECK;
/* Its cost stays, by day. */
enum status goodput_forget_job(struct store_tx *tx, int64_t job_id, struct error *err) MUST_CHECK;
