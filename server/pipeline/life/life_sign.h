/*
 * Job: a sign of life (a line, a point, a session) among the facts that a job's history is made of: that it trains, or was stopped
 *      in vain.
 * Ownership: none. Threads: the writer's.
 */
#pragma once

#include "base/arena.h"
#include "store/store.h"

struct told_row;
struct job_row;
struct pipeline;

struct life_sign {
	int64_t first_ms; /* its earliest line; INT64_MAX: none */
	int64_t believed_ms; /* what was before it was a stray date, as is known now; INT64_MIN: nothing */
	int64_t after_ms; /* the earliest one after what was stated last, if it ends that, or ends it earlier; INT64_MAX: none */
	int64_t heard_ms; /* it was alive then: the time of its newest line, and not later than it came */
	int64_t gap_first_ms, gap_last_ms; /* of those within gaps (run_gap.h); gap_last_ms 0: none */
};
/* Of a time in which it was waited (halts.h). */
struct life_resumed {
	int64_t from_ms, to_ms; /* both are in it */
	int64_t at_ms; /* its log says that it trained from then on; INT64_MAX: it does not */
};
/* Puts what follows from it; life_write comes after it. rows: all that was told, as it is stored. */
enum status life_put_resumed(struct store_tx *tx, int64_t job_id, const struct told_row *rows, size_t count,
	const struct life_resumed *resumed, struct error *err) MUST_CHECK;
/* The same. */
enum status life_put_sign(const struct pipeline *pipeline, struct store_tx *tx, struct arena *arena,
	const struct job_row *job, const struct life_sign *sign, struct error *err) MUST_CHECK;
