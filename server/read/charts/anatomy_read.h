/*
 * Job: what a step of the training is made of, by the timers that its trainer prints: docs/anatomy.md. What traces add is
 *      in anatomy_traces.h.
 * Ownership: spans and arrays in the arena. Threads: any.
 */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "base/span.h"

struct pipeline;
struct store_reader;

enum anatomy_part {
	ANATOMY_DATA,
	ANATOMY_FORWARD,
	ANATOMY_BACKWARD,
	ANATOMY_COMMUNICATION,
	ANATOMY_OPTIMIZER,
	ANATOMY_CHECKPOINT,
	ANATOMY_OTHER,
	ANATOMY_PARTS
};
enum {
	ANATOMY_STEPS_MAX = 512, /* of a stream: the newest ones */
	ANATOMY_STREAMS_MAX = 64,
	ANATOMY_LATE_LEAST = 8
};

struct anatomy_stream {
	struct span name;
	size_t steps;
	int64_t late_step; /* from here on: the newest eighth of what was read, ANATOMY_LATE_LEAST at least; -1: it is not twice so many */
	int64_t late_ms; /* when the log has that step, Unix milliseconds */
	double share[ANATOMY_PARTS]; /* of the step's time; NaN: not known */
	struct span from[ANATOMY_PARTS]; /* the formula; "": not known */
	struct span step_from; /* what the step's time is */
	size_t traces; /* of a profiler */
	double exposed; /* communication that no computation ran beside: the median of these traces; NaN: not known */
};

struct anatomy {
	size_t steps; /* the most of any stream */
	double share[ANATOMY_PARTS]; /* medians over the streams */
	double exposed; /* as well */
	struct anatomy_stream *streams;
	size_t count;
	size_t left_out; /* streams beyond the limit */
	bool has_timers, has_timed_steps; /* any stream: timers of parts, and beside those a step's time */
};

/* Steps, both inclusive, as they stand: what was made again counts by its last attempt. */
struct anatomy_range {
	int64_t from, to;
	size_t streams; /* at most; ANATOMY_STREAMS_MAX at most */
};
enum status anatomy_read(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena, struct span job,
	const struct anatomy_range *range, struct anatomy *out, struct error *err) MUST_CHECK;
const char *anatomy_part_name(enum anatomy_part part);
