/*
 * Job: by_hand.faults of a job's document, {"algo-1:104": "the cable was pulled"}: faults that are not their machines'.
 * Ownership: spans are the document's. Threads: the writer.
 */
#pragma once

#include "base/error.h"
#include "base/json/json_read.h"
#include "pipeline/jobs/named_elsewhere.h"
#include "state/pipeline_state.h"
#include "store/jobs.h"

struct fault_line;
struct faults_cleared { /* in the caller's arena */
	struct fault_line *rows;
	size_t count;
	struct named_elsewhere named; /* failures of other jobs that they name, or named */
	bool is_said; /* what was cleared before and is not among them counts again */
};

/* What stands in the document is cleared, what stands there no more counts again. changes: of by_hand, whose faults must be there; NULL: none
 * was asked for, and what is not there is left out. */
enum status faults_by_hand_write(struct pipeline *pipeline, struct store_tx *tx, struct arena *arena,
	const struct job_row *job, const struct json *changes, struct faults_cleared *out,
	struct error *err) MUST_CHECK;
/* After the commit: what comes from now on is not of the stretches that were cleared. */
void faults_by_hand_apply(struct pipeline *pipeline, int64_t job_id, const struct faults_cleared *cleared);
