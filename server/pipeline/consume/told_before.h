/*
 * Job: faults of a machine of which another job's log had told before this one's lines came that say that the machine was there.
 * Ownership: none is kept. Threads: the stream's lock; what goes to the store is written by the writer.
 */
#pragma once

#include "state/streams/directory.h"

struct pipeline;

/* Behind the lines of a slice: with the first ones, then once an hour of the log, the writer looks, and tells the job of them. */
enum status told_before_look(struct pipeline *pipeline, struct stream_state *stream, struct error *err) MUST_CHECK;
