/*
 * Job: a look of the maintenance thread at each job in RAM.
 * Threads: maintenance.
 */
#pragma once

#include "state/streams/directory.h"

struct pipeline;
struct store_reader;

/* Jobs that were deleted are left out. A look that fails is logged as `event`, and does not keep the others; one at a job that has
 * gone meanwhile, or while the store is away, is tried again with the next round. */
void each_job_look(struct pipeline *pipeline, struct store_reader *reader, const char *event,
	enum status (*look)(
		struct pipeline *pipeline, struct store_reader *reader, struct job_state *job, struct error *err));
/* While the job runs: 5 s after it was first asked, then at distances that double up to 10 minutes. */
bool each_job_is_due(struct job_state *job, struct job_look *look);
