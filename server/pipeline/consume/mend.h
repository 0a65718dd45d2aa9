/*
 * Job: goes on with streams that are held up (has_hole): back to what is sealed of them, and from there on once more through the journal,
 *      as at a start, while the rest of the server works.
 * Ownership: none. Threads: mend_run: maintenance; mend_hasten: any.
 */
#pragma once

#include "base/codec/zstd.h"
#include "state/streams/directory.h"

struct pipeline;

/* Those that are due: some seconds after they were held up, then after twice as long each time. What fails is logged. */
void mend_run(struct pipeline *pipeline, struct store_reader *reader, struct zstd *zstd);
/* Something changed that may be why they are held up. */
void mend_hasten(struct job_state *job);

/* Streams of which nothing is extracted for now: as stream_view's has_hole. Waits for no extraction. */
uint64_t pipeline_held_up_streams(struct pipeline *pipeline);
