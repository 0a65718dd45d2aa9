/*
 * Job: what becomes of deleted jobs: restored, or gone for good when somebody says so, when --trash-days are over, or when the database
 *      needs their room.
 * Ownership: the caller's. Threads: workers, but for trash_run and trash_give_room; they wait for the writer.
 */
#pragma once

#include "store/store.h"

struct pipeline;

struct trash_choice {
	struct span job, team;
	int64_t job_id; /* of several that were deleted under this name; 0: the one that was deleted last */
};
/* *name: what it is called now, another name where that is taken; the arena's. ERR_NOT_FOUND, ERR_FORBIDDEN */
enum status pipeline_restore_job(struct pipeline *pipeline, struct arena *arena, const struct trash_choice *choice,
	struct span *name, struct error *err) MUST_CHECK;
/* ERR_CONFLICT: there are several, and it is not said which. ERR_NOT_FOUND, ERR_FORBIDDEN */
enum status pipeline_purge_job(
	struct pipeline *pipeline, const struct trash_choice *choice, struct error *err) MUST_CHECK;

/* Maintenance thread: takes out one whose time is over; *has_more is set when it did. */
enum status trash_run(
	struct pipeline *pipeline, struct store_reader *reader, bool *has_more, struct error *err) MUST_CHECK;
/* Maintenance thread: takes out the oldest, however young; *has_room: there was one, or what went before is still being swept. */
enum status trash_give_room(
	struct pipeline *pipeline, struct store_reader *reader, bool *has_room, struct error *err) MUST_CHECK;
