/*
 * Job: jobs deleted: into the trash, from where trash.h restores them, or for good.
 * Ownership: the caller's. Threads: workers; they wait for the writer.
 */
#pragma once

#include "store/store.h"

struct pipeline;

struct job_deletion {
	struct span job, team;
	int64_t now_ms;
	bool is_for_good; /* so it is without a trash, too (--trash-days 0) */
};
/* ERR_CONFLICT while it runs and was heard of in the last ten minutes. ERR_BUSY: what was sent of it is not all put away yet. */
enum status pipeline_delete_job(struct pipeline *pipeline, struct store_reader *reader,
	const struct job_deletion *asked, struct error *err) MUST_CHECK;
