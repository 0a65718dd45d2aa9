/*
 * Job: a job whose row goes away and may come back: all that was acknowledged of it is to be in blocks and chunks first, and its summaries
 *      written, since neither the journal nor RAM is asked again for what it was.
 * Ownership: settle_begin's reference is settle_end's. Threads: said at each.
 */
#pragma once

#include "state/streams/directory.h"
#include "store/jobs.h"

struct pipeline;

/* Worker: asks the maintenance thread for it, and waits. *out NULL: RAM knows nothing of the job, so all of it is. ERR_BUSY */
enum status settle_begin(struct pipeline *pipeline, struct span name, int64_t until_ms, struct job_state **out,
	struct error *err) MUST_CHECK;
void settle_end(struct pipeline *pipeline, struct job_state *job);

/* In the writer's transaction between them: is it so still? ERR_BUSY */
enum status settle_check(struct pipeline *pipeline, const struct job_row *row, struct error *err) MUST_CHECK;

/* Maintenance thread: does anybody wait? Then it writes the summaries, seals, and says which jobs are settled. */
bool settle_is_asked(struct pipeline *pipeline);
void settle_run(struct pipeline *pipeline);
