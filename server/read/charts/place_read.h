/*
 * Job: which step a time is, and when a step was, by the loss that a job printed: in the stream that has most of it; and when its newest
 *      work began.
 * Ownership: lives in the arena. Threads: any.
 */
#pragma once

#include "store/store.h"

struct pipeline;

struct place {
	bool has_step, has_time;
	int64_t step, ts_ms;
};

/* has_time: the step is looked for; has_step: the time, in the newest attempt that has passed the step. What nothing says, because there is no
 * loss, or it is before the first or behind the last print, stays unknown. A logarithm of the points is read. */
enum status place_read(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena, struct span job,
	struct place *inout, struct error *err) MUST_CHECK;

/* INT64_MIN: not known, or never. */
struct worked {
	int64_t went_on_ms; /* the first step behind the last break that steps followed on */
	int64_t last_step_ms;
};
struct history;
/* As it was then; history: the job's. */
enum status worked_read(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena, struct span job,
	const struct history *history, int64_t until_ms, struct worked *out, struct error *err) MUST_CHECK;
