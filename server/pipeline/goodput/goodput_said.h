/*
 * Job: what logs said of a job's faults, to name the causes of its breaks.
 * Ownership: in the arena that the caller gives. Threads: any.
 */
#pragma once

#include "store/goodput.h"

struct pipeline;

struct said {
	const struct pipeline *pipeline;
	const struct said_signature *items; /* by time */
	size_t count;
};

/* What its own log said, other jobs' of its machines, and the faults that its failures are known to be of. */
enum status said_read(struct said *said, struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	int64_t job_id, struct error *err) MUST_CHECK;
