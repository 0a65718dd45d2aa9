/*
 * Job: a part of a tracked run that is told of when the run has ended: one of its processes, which trained without a server, and before the last
 *      one. Between the parts nothing is billed, in whatever order they are told, and what is told again changes nothing.
 * Ownership: spans are the caller's. Threads: workers; they wait for the writer.
 */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "base/span.h"

struct pipeline;

struct tracked_part {
	struct span run_id, team;
	int64_t begun_ms; /* the process, as it says; 0: it does not */
	int64_t first_ms, last_ms; /* that it tells of */
	struct span secondary, reason; /* how it ended */
	int64_t now_ms;
	/* What comes back. */
	struct span job; /* the arena's */
	bool is_new; /* it was not known */
};
enum status pipeline_put_part(
	struct pipeline *pipeline, struct arena *arena, struct tracked_part *part, struct error *err) MUST_CHECK;
