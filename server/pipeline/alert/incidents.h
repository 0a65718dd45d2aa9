/*
 * Job: incidents on their way from detectors to the store, and who must hear of them.
 * Ownership: the caller's. Threads: said at each verb.
 */
#pragma once

#include "model/incident.h"
#include "pipeline/alert/incident_effects.h"
#include "state/streams/directory.h"
#include "store/alerts.h"

struct pipeline;

/* Under the stream's lock: what a detector said goes to the writer. */
enum status incidents_hand_over(struct pipeline *pipeline, struct stream_state *stream, struct series_state *series,
	const struct incident *incident, struct error *err) MUST_CHECK;

/* With members of a JSON object: what it is about beside figures. */
enum status incidents_hand_over_facts(struct pipeline *pipeline, struct stream_state *stream,
	struct series_state *series, const struct incident *incident, struct span facts, struct error *err) MUST_CHECK;

/* Any incident, with its outbox rows, inside a transaction; then, after the commit, who must hear of it. */
enum status incidents_write(struct pipeline *pipeline, struct store_tx *tx, struct incident_row *row, struct span team,
	struct incident_effects *told, struct error *err) MUST_CHECK;
void incidents_publish(struct pipeline *pipeline, const struct incident_row *row, const struct incident_effects *told);

/* Maintenance thread, every few seconds: ends what is open of jobs that have ended. */
void incident_ends_run(struct pipeline *pipeline, struct store_reader *reader);
