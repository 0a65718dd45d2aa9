/*
 * Job: definitions of a stream that gave values and do not any more, while lines go on: `definition_silent`. Of each definition it is
 *      counted what has come since its last value: lines that begin as those it was found on, and, with little weight, others. How
 *      much came between two values so far says what is usual. Where lines of a new form go on with its steps (step_trail.h), less
 *      says enough.
 * Ownership: new/free; a stream's. Threads: the stream's lock.
 *
 * Deterministic: the same lines give the same incidents. Only of definitions that somebody wrote: presets know their trainers.
 */
#pragma once

#include "state/streams/directory.h"
#include "state/watchers/silence_state.h"

struct pipeline;

/* A line, and what was found on it. */
struct silence_line {
	struct span text;
	uint64_t number;
	int64_t ts_ms, arrival_ms;
};
enum status silences_feed(struct pipeline *pipeline, struct stream_state *stream, const struct definitions *definitions,
	const struct silence_line *line, const struct extracted_list *found, struct error *err) MUST_CHECK;
