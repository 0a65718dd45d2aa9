/*
 * Job: what an export says of incidents and the store does not yet: it follows from values that wait for a tracker here (pipeline/consume/consume.h),
 *      and are points in the copy. New ones have numbers behind those of the store, and are listed with them in the order of the store.
 * Ownership: rows are carry_unsaid_done's, texts in the arena. Threads: one at a time.
 */
#pragma once

#include "store/alerts.h"

struct store_reader;

struct carry_unsaid {
	struct incident_row *rows; /* incident_id 0: it is one of the store's */
	size_t count, cap;
	size_t at; /* the next one */
	uint32_t first_id; /* what the store has numbered so meanwhile is numbered behind all of these */
};

void carry_unsaid_done(struct carry_unsaid *unsaid);
/* Of one stream. */
enum status carry_unsaid_add(struct carry_unsaid *unsaid, struct arena *arena, const struct incident_row *rows,
	size_t count, struct error *err) MUST_CHECK;
/* Once all are there. lives: how often their job has gone on after an end. */
enum status carry_unsaid_number(struct carry_unsaid *unsaid, struct store_reader *reader, int64_t job_id,
	uint32_t lives, struct error *err) MUST_CHECK;
/* Those that the store has, too, are no new ones: what waits may end an open one, or has been let go meanwhile. */
void carry_unsaid_join(struct carry_unsaid *unsaid, struct incident_row *known, size_t count);
/* The next one that is listed before that row (NULL: behind all); NULL: there is none. */
const struct incident_row *carry_unsaid_next(struct carry_unsaid *unsaid, const struct incident_row *row);

AUTO_DONE_TYPE(carry_unsaid)
