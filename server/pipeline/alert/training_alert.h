/*
 * Job: what a training says by its tracker's alert(), as an incident of its job: the same title is one incident as long as that is open.
 * Ownership: spans are the caller's. Threads: workers; they wait for the writer.
 */
#pragma once

#include "base/error.h"
#include "model/incident.h"

struct pipeline;

enum { TRAINING_ALERTS_OPEN_MAX = 100 }; /* of a job, at a time: what is said beyond stands in its log alone */

struct training_alert {
	struct span job;
	struct span title, text;
	enum severity severity;
	int64_t at_ms;
	int64_t step; /* 0: not said */
};
/* ERR_NOT_FOUND: the job is gone. *is_kept: it is an incident. */
enum status pipeline_raise_alert(
	struct pipeline *pipeline, const struct training_alert *alert, bool *is_kept, struct error *err) MUST_CHECK;
