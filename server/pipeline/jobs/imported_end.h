/*
 * Job: the end of a job whose log was imported, and which nobody stated.
 * Ownership: the caller's. Threads: workers; they wait for the writer.
 */
#pragma once

#include "pipeline/jobs/job_transition.h"

struct pipeline;

/*
 * All of its log was imported, and nobody said how it ended: it is assumed to be Completed where its log ends, as long as nobody
 * says otherwise; more of the log moves that. time_ms: of a job of which no line or point has a time. ignored: as of pipeline_add_transition.
 */
enum status pipeline_assume_end(struct pipeline *pipeline, struct store_reader *reader, struct span job,
	struct span team, int64_t time_ms, char ignored[TRANSITION_REASON_BYTES], struct error *err) MUST_CHECK;
