/*
 * Job: by_hand.restarts of a job's document (model/jobs/restart_verdict.h): an incident of a restart of which somebody says that it did not
 *      differ is over.
 * Ownership: spans are the arena's. Threads: the writer.
 */
#pragma once

#include "pipeline/alert/incident_effects.h"
#include "store/alerts.h"
#include "store/jobs.h"

struct pipeline;

enum { RESTARTS_ENDED_MAX = 16 }; /* the newest restart alone has an open one, or those that came at once */

struct restarts_ended {
	struct incident_row rows[RESTARTS_ENDED_MAX];
	struct incident_effects told[RESTARTS_ENDED_MAX];
	size_t count;
};
/* In the transaction that puts the job; behind its commit it is said. */
enum status restarts_by_hand_write(struct pipeline *pipeline, struct store_tx *tx, struct arena *arena,
	const struct job_row *job, struct restarts_ended *out, struct error *err) MUST_CHECK;
void restarts_by_hand_say(struct pipeline *pipeline, const struct restarts_ended *ended);
