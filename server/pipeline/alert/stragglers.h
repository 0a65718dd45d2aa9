/*
 * Job: of jobs whose streams tell their own pace, the streams that are slower than the others (kind straggler, of that stream's
 *      series): brings what the consumers noted to the comparison (detect/pace_watch.h), and what it says to the writer.
 * Ownership: a job's own. Threads: note: extraction, under the stream's lock; the others: maintenance.
 * What is found follows from the points, not from when it is looked. What was noted and not looked at is lost by a crash, unless
 * its points are replayed; an incident that is open in the store is taken up again.
 */
#pragma once

#include "state/streams/directory.h"
#include "state/watchers/straggler_state.h"

struct pipeline;

/* After a point was fed to the detectors of a series: notes how fast it goes, when that is new. */
enum status stragglers_note(struct stream_state *stream, struct series_state *series, uint64_t ordinal,
	const struct point *point, struct error *err) MUST_CHECK;
/* Of an open straggler: up to which step it was slow so far. False: that is not known. */
bool stragglers_slow_to(struct job_state *job, const struct incident_row *row, int64_t *step);
/* It has ended with its job: what comes of another attempt is judged anew. */
void stragglers_end(struct job_state *job, const struct incident_row *row);
void stragglers_run(struct pipeline *pipeline, struct store_reader *reader);
