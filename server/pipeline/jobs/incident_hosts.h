/*
 * Job: incidents of machines follow when somebody sets, or takes back, whose a stream is.
 * Ownership: none is kept. Threads: the writer.
 */
#pragma once

#include "store/jobs.h"

/* What the job's incidents say of their machine and did not hear from the line itself. In the transaction that has set it. */
enum status incident_hosts_follow(struct store_tx *tx, const struct job_row *job, struct error *err) MUST_CHECK;
