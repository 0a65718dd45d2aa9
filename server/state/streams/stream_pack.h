/*
 * Job: the state of a stream's consumers, for stream_row.state.
 * Ownership: the caller's. Threads: under the stream's lock.
 */
#pragma once

#include "state/streams/directory.h"
#include "state/streams/job_view.h"

void stream_pack(const struct stream_state *stream, struct buf *out);
/* A new state, without one that could be unpacked: with the series of the view and what else it has (stream_rebuild.h). */
enum status stream_take_rebuilt(
	struct stream_state *stream, const struct stream_view *view, struct error *err) MUST_CHECK;
enum status stream_unpack(struct stream_state *stream, struct span state, struct error *err) MUST_CHECK;
