/*
 * Job: TensorBoard's event files, followed: their scalars become points, their hparams settings of the job.
 * Ownership: new/free. Threads: one at a time.
 */
#pragma once

#include "cli/input/point_spool.h"

struct event_files;

enum status event_files_new(
	struct event_files **out, const char *program, struct point_spool *points, struct error *err) MUST_CHECK;
void event_files_free(struct event_files *events);
struct event_source {
	const char *path;
	struct span folder; /* as far as it says what of the run is in it: train, validation, …; may be empty */
	int64_t assumed_ms; /* of events without a time; 0: as they come */
};
/* All files of a stream, in the order in which they were added, are one run. */
enum status event_files_add(
	struct event_files *events, const struct event_source *source, unsigned stream, struct error *err) MUST_CHECK;
/* The folder of the run: the same of those of its training and of its evaluations. */
struct span event_files_run_of(struct span folder);
/* Reads what there is, as far as the spool has room; false: there is more. */
bool event_files_round(struct event_files *events);
/* Those with records that could not be read: each was named on standard error. */
size_t event_files_damaged(const struct event_files *events);

AUTO_TYPE(event_files)
