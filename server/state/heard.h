/*
 * Job: for how long nothing was heard of a job.
 * Ownership: the caller's. Threads: any.
 */
#pragma once

#include "store/jobs.h"
#include "store/store.h"

struct pipeline;

/* heard_ms, when it has been too long ago for a job that runs, else 0: heard of so and so long, not more. While the server was
 * down nobody could be heard. */
int64_t heard_silent_before(const struct pipeline *pipeline, int64_t now_ms); /* who was heard of last before that is */
int64_t heard_silent_since(const struct pipeline *pipeline, const struct job_row *row, int64_t heard_ms);
