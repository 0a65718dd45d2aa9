/*
 * Job: jobs that have failed and are named by faults of their machines that this job's log told of, which was told or set right behind that.
 * Ownership: the lives are in the caller's arena. Threads: the writer's.
 */
#pragma once

#include "pipeline/life/life.h"

struct named_elsewhere {
	struct life *lives;
	size_t count;
};

/* In the transaction that changes them: the faults of that line. Adds to out; after the commit: named_elsewhere_say. */
enum status named_elsewhere_write(struct pipeline *pipeline, struct store_tx *tx, struct arena *arena, int64_t job_id,
	uint32_t stream_id, uint64_t line, struct named_elsewhere *out, struct error *err) MUST_CHECK;
void named_elsewhere_say(const struct named_elsewhere *named);
