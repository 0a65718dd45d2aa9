/*
 * Job: faults of a machine of which another job's log had told before this one's lines came that say that the machine was there.
 * Ownership: none is kept. Threads: the stream's lock; what goes to the store is written by the writer.
 */
#pragma once

#include "state/streams/directory.h"

struct pipeline;

/* Behind the lines of a slice: with the first ones, then once an hour of the log, the writer looks, and tells the job of them.
 * begin_ms: the time of the slice's first line, and not its earliest one: a log may show lines of old ones. */
enum status told_before_look(
	struct pipeline *pipeline, struct stream_state *stream, int64_t begin_ms, struct error *err) MUST_CHECK;
