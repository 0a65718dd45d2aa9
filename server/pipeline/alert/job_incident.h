/*
 * Job: an incident of a whole job, that no series' detector found: opened, looked for and ended.
 * Ownership: the caller's. Threads: maintenance, workers.
 */
#pragma once

#include "pipeline/alert/incident_effects.h"
#include "state/streams/directory.h"
#include "store/alerts.h"

struct pipeline;

struct job_incident {
	struct pipeline *pipeline;
	struct job_state *job;
	struct incident_row row; /* without what it has of the job */
	struct incident_effects told;
};

/* An open warning of what is so since a step, one a step. */
struct incident job_incident_since(enum incident_kind kind, int64_t step, int64_t at_ms, double value, double expected);
/* Writes it and tells of it. By its kind and opened_ordinal it is one that is known, or a new one. */
enum status job_incident_put(struct job_incident *note, struct error *err) MUST_CHECK;
/* *out NULL: none of this kind is open. */
enum status job_incident_find_open(struct store_reader *reader, struct arena *arena, int64_t job_id,
	enum incident_kind kind, struct incident_row **out, struct error *err) MUST_CHECK;
enum status job_incident_end(struct pipeline *pipeline, struct job_state *job, const struct incident_row *open,
	struct error *err) MUST_CHECK;
