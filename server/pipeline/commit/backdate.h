/*
 * Job: batches of the past: times of lines without one.
 * Ownership: the batch is the caller's. Threads: any that brings a batch.
 */
#pragma once

#include "model/metrics/batch.h"
#include "state/streams/directory.h"

struct pipeline;

/* Times whose zone batch.zone_ms says, and those of lines without one that are the time of the line before them. */
void backdate_fill_times(struct pipeline *pipeline, struct batch *batch);

/* Under the stream's lock: its lines are on disk. */
void backdate_note(struct stream_state *stream, const struct batch *batch, const struct batch_part *part);
