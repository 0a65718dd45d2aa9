/*
 * Job: the emergency path, off by default: an incident has the senders of its job told to write a checkpoint, and to stop once the
 *      log says that it is there, or when the time for it is over. A job is dealt with once.
 * Ownership: the caller's. Threads: said at each verb. Durable: what is still to be done is a row, done again after a crash.
 */
#pragma once

#include "model/incident.h"
#include "pipeline/alert/incident_effects.h"
#include "store/alerts.h"

struct pipeline;

struct emergency_acts {
	bool checkpoint, stop;
};
/* "", "checkpoint", "stop" or both with a comma between; false: none of these. */
bool emergency_parse(struct span text, struct emergency_acts *out);

/* Writer, in the transaction of the incident. What it told->command says goes to the sessions after the commit. */
enum status emergency_act(struct pipeline *pipeline, struct store_tx *tx, const struct incident_row *incident,
	struct emergency_acts acts, struct incident_effects *told, struct error *err) MUST_CHECK;

/* Writer: what --on-non-finite, or the job's own tag of that name, says of a new incident. */
enum status emergency_look(struct pipeline *pipeline, struct store_tx *tx, struct arena *arena,
	const struct incident_row *incident, struct incident_effects *told, struct error *err) MUST_CHECK;

/* Of the newest checkpoint; -1: there is none. */
enum status emergency_newest_step(
	struct store_reader *reader, struct arena *arena, int64_t job_id, int64_t *step, struct error *err) MUST_CHECK;
