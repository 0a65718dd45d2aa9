/*
 * Job: by_hand.faults of a job's document, {"algo-1:104": "the cable was pulled"}: faults that are not their machines'.
 * Ownership: spans are the document's. Threads: the writer.
 */
#pragma once

#include "base/error.h"
#include "base/json/json_read.h"
#include "store/jobs.h"

/* What stands in the document is cleared, what stands there no more counts again. changes: of by_hand, whose faults must be there; NULL: none
 * was asked for, and what is not there is left out. */
enum status faults_by_hand_write(struct store_tx *tx, struct arena *arena, const struct job_row *job,
	const struct json *changes, struct error *err) MUST_CHECK;
