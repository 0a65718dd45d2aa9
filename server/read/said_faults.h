/*
 * Job: the faults of a machine that one job's own log told of, as the ledger of machines would have them: where a job was imported, the
 *      ledger here is another's.
 * Ownership: rows live in the arena. Threads: any.
 */
#pragma once

#include "store/faults.h"

struct pipeline;
struct job_row;

/* The newest first. */
enum status said_faults_read(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	const struct job_row *job, struct span host, int64_t from_ms, int64_t to_ms, struct node_fault_row **out,
	size_t *count, struct error *err) MUST_CHECK;
