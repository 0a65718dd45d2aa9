/*
 * Job: what lines of the log say of their job's status, to the job's history.
 * Threads: consume_status under the stream's lock; the rest is the writer's.
 */
#pragma once

#include "state/streams/directory.h"

struct pipeline;

/* A stream's word is heard so many times, and of a job so much is kept; what is said again and again is chatter. */
enum { STATUSES_MAX = 500 };

/* *is_status: it is such a line, and none of the training's. */
enum status consume_status(struct pipeline *pipeline, struct stream_state *stream, struct span text, int64_t arrival_ms,
	bool *is_status, struct error *err) MUST_CHECK;
