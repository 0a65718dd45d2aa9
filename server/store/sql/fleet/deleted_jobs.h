/*
 * Job: what the fleet's sums do with a job that is about to be deleted, or comes back. Ownership: values. Threads: the writer's.
 */
#pragma once

#include "store/store.h"

/* It counts no more. */
enum status fleet_forget_job(struct store_tx *tx, int64_t job_id, struct error *err) MUST_CHECK;
/* Its cost stays, by day, in the currency of now; goodput_take_back: it is the job's again, which was not dropped. */
enum status goodput_set_aside(struct store_tx *tx, int64_t job_id, struct error *err) MUST_CHECK;
enum status goodput_take_back(struct store_tx *tx, int64_t job_id, struct error *err) MUST_CHECK;
/* What it was worked out by, behind goodput_set_aside. The days keep its hours, and so its breaks: MTBF is made of both. */
enum status goodput_drop(struct store_tx *tx, int64_t job_id, struct error *err) MUST_CHECK;
