/*
 * Job: what the lines and points of a slice say of their job's life (life_sign.h).
 * Ownership: none. Threads: extraction, under the stream's lock.
 */
#pragma once

#include "state/streams/directory.h"

struct pipeline;

/* Begins a slice; says of each line or point of the training when it was; hands over. */
void life_signs_begin_slice(struct stream_state *stream);
static inline void life_signs_see(struct stream_state *stream, int64_t ts_ms)
{
	if (ts_ms < stream->seen_ms)
		stream->seen_ms = ts_ms;
	if (ts_ms > stream->seen_last_ms)
		stream->seen_last_ms = ts_ms;
	if (ts_ms >= stream->awaited_ms && ts_ms < stream->seen_after_ms)
		stream->seen_after_ms = ts_ms;
	if (ts_ms <= stream->gap_from_ms || ts_ms >= stream->gap_to_ms)
		return;
	if (ts_ms < stream->seen_gap_ms)
		stream->seen_gap_ms = ts_ms;
	if (ts_ms > stream->seen_gap_last_ms)
		stream->seen_gap_last_ms = ts_ms;
}
enum status life_signs_end_slice(
	struct pipeline *pipeline, struct stream_state *stream, int64_t arrival_ms, struct error *err) MUST_CHECK;
