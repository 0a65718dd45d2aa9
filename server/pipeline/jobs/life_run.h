/*
 * Job: what a job's life comes to by the clock: who was asked to stop and is heard no more has stopped; what an upgrade left.
 * Ownership: none. Threads: maintenance.
 */
#pragma once

#include "base/error.h"

struct pipeline;
struct store_reader;

void life_run(struct pipeline *pipeline, struct store_reader *reader);
/*
 * The failure of a job of many streams is named anew, once for all faults that were told behind it since. That it is due is
 * said in the transaction that knows the fault (life_put_off_name): until it is done, or has failed for good, the job's lines are not
 * sealed, so that a crash forgets none. Where the journal is long they are: one job keeps nobody from sending.
 */
void life_name_ends(struct pipeline *pipeline);
/*
 * What names an end is looked for in all streams of the job: of many of them not for each fault, as a thousand may be told at once.
 * *is_later: it is due soon. Writer.
 */
enum status life_put_off_name(struct pipeline *pipeline, struct store_reader *reader, int64_t job_id, bool *is_later,
	struct error *err) MUST_CHECK;
/* What lines and points span was counted anew, and with it when an end was that nobody dated. */
enum status life_date_ends(
	struct pipeline *pipeline, struct store_reader *reader, int64_t job_id, struct error *err) MUST_CHECK;
