/*
 * Job: how fast running jobs go, against what is usual of each.
 * Ownership: lives in the arena. Threads: any.
 */
#pragma once

#include "base/arena.h"
#include "base/error.h"

struct pipeline;

/* How fast jobs go that said something since heard_after_ms, against what is usual of each; those of which both are known. */
struct job_pace {
	struct span job;
	struct span metric;
	struct span unit;
	bool is_step_time; /* now and usual are steps a unit of time then */
	double now, usual;
	int64_t heard_ms;
};

enum status pipeline_read_paces(struct pipeline *pipeline, struct arena *arena, int64_t heard_after_ms,
	struct job_pace **out, size_t *count, struct error *err) MUST_CHECK;
