/*
 * Job: the stream of rank 0, or of the leading node.
 * Ownership: lives in the arena. Threads: any.
 */
#pragma once

#include "state/streams/job_view.h"

/* The stream of rank 0, or of the leading node, and why it is taken for that; stream "": the job has none. */
struct rank_0 {
	struct span stream;
	struct span reason;
};

/* view: with its series. */
enum status rank_0_find(struct store_reader *reader, struct arena *arena, const struct job_view *view,
	struct rank_0 *out, struct error *err) MUST_CHECK;
