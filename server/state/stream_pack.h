/*
 * Job: the state of a stream's consumers, for stream_row.state.
 * Ownership: the caller's. Threads: under the stream's lock.
 */
#pragma once

#include "state/directory.h"

void stream_pack(const struct stream_state *stream, struct buf *out);
enum status stream_unpack(struct stream_state *stream, struct span state, struct error *err) MUST_CHECK;
