/*
 * Job: which of the streams of a job becomes slower than the others, and when it has caught up. Pure: each stream (a lane) hands in
 *      how fast it goes of late, by step; the same figures give the same answer, in whatever order the streams' come.
 * Ownership: new/free. Threads: one at a time.
 *
 * Streams are compared at steps that all of them have reached: what a faster one said beyond that waits. What was usual there is
 * kept, so that a stream that comes later, of a job that is uploaded stream by stream, is held against it. A stream that says
 * nothing while another says LANE_MAX figures is left out until it is heard again. A restart of the job begins afresh: what one stream
 * says of the new attempt waits until those that are heard in the attempt before are through with it, and of these nobody is waited for.
 */
#pragma once

#include "base/alloc.h"
#include "base/error.h"
#include "detect/straggler.h"

#include <stdint.h>

struct pace {
	int64_t step; /* of the newest point in it */
	int64_t ts_ms;
	uint64_t ordinal;
	double rate;
	double newest; /* the same of the last block of points in it alone */
	uint32_t attempt;
	uint32_t sender; /* another number: another machine sends the stream */
};

struct pace_watch;

struct pace_watch *pace_watch_new(void) __attribute__((warn_unused_result));
void pace_watch_free(struct pace_watch *watch);

/* lane: a small number of the stream. False: out of memory, the figure is left out. */
bool pace_watch_add(struct pace_watch *watch, size_t lane, const struct pace *pace) MUST_CHECK;

/* is_slow: an incident of the lane opens; else the one that is open has ended: it has caught up, or is another machine's stream now. */
struct pace_finding {
	bool is_slow;
	size_t lane;
	int64_t first_step, last_step; /* that were slow: figures are medians of medians, which show both ends later */
	struct pace pace; /* at which it is found */
	struct straggler found;
};
typedef void pace_report(void *context, const struct pace_finding *finding);

/* Says what follows from all that was added since. */
void pace_watch_look(struct pace_watch *watch, pace_report *report, void *context);
/* After a start, before anything is added: an incident of this lane is open since this step. False: out of memory. */
bool pace_watch_resume(struct pace_watch *watch, size_t lane, int64_t step) MUST_CHECK;
/* Of an incident that is open: up to which step blocks were slow so far. False: nothing is open, or nothing was slow since a start. */
bool pace_watch_slow_to(const struct pace_watch *watch, size_t lane, int64_t *step);
/* The job has ended, and with it what is open of this lane: one that is slow in another attempt opens anew. */
void pace_watch_end(struct pace_watch *watch, size_t lane);
/* Streams that have ever said anything. */
size_t pace_watch_count(const struct pace_watch *watch);

AUTO_TYPE(pace_watch)
