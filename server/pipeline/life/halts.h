/*
 * Job: whether a job trained between what was stated of its breaks, as its stored log says: a status that is told behind the lines that came
 *      after it, or lines that come behind all statuses. (What comes in order needs no look at the log: life_note, life_sign.h.)
 *      A stretch of waiting (Restarting, Interrupted …) ends with the first line or point behind its moment. If another waiting follows, it only ends where a
 *      point is between: what a start that fails prints is no training.
 * Ownership: none. Threads: any but the writer.
 */
#pragma once

#include "store/store.h"

struct arena;
struct job_row;
struct pipeline;

/* The writer's. Something was stated: is there anything in the log behind what is waited for? Then halts_settle is to be called. */
enum status halts_are_due(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	const struct job_row *job, bool *out, struct error *err) MUST_CHECK;
/* The same, of what is stored and so is no failure of whoever stated it: what fails is logged, and looked at with the job's next summary. */
void halts_settle_stated(struct pipeline *pipeline, struct span job, int64_t job_id);
/* reader NULL: it opens one of its own. A job that is gone has none. */
enum status halts_settle(
	struct pipeline *pipeline, struct store_reader *reader, int64_t job_id, struct error *err) MUST_CHECK;
