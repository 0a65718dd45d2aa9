/*
 * Job: a job's row with a number of its own choice, for imports. Ownership: values. Threads: the writer's.
 */
#pragma once

#include "store/jobs.h"
#include "store/store.h"

/* With the number that the row has. */
enum status store_insert_job(struct store_tx *tx, const struct job_row *row, struct error *err) MUST_CHECK;
