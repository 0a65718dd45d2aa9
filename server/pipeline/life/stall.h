/*
 * Job: jobs that run and have gone silent (kind stall), and those that failed (job_failed): incidents of a job, of no series.
 * Ownership: the caller's. Threads: said at each verb.
 */
#pragma once

#include "pipeline/alert/incident_effects.h"
#include "state/streams/directory.h"
#include "store/alerts.h"
#include "store/jobs.h"

struct pipeline;

/* Any thread: something of the job was committed just now; not what a start replays: our own downtime is no silence. */
void stall_note_commit(struct job_state *job, int64_t now_mono_ms);

/* Maintenance thread, every few seconds: opens what is overdue, ends what is heard again or has ended. */
void stall_run(struct pipeline *pipeline, struct store_reader *reader);

/*
 * Writer, in the transaction that gives the job this status: opens job_failed where it failed, ends it where it goes on, names its
 * fault where that is heard of later.
 * After the commit: stall_publish_failed.
 */
struct job_failed_incident {
	bool is_told;
	bool has_state_messages;
	struct incident_row row;
	struct incident_effects told;
};
struct known_fault; /* what the log told of before; its spans live until then */
enum status stall_put_status(struct pipeline *pipeline, struct store_tx *tx, const struct job_row *job,
	const struct known_fault *fault, struct job_failed_incident *out, struct error *err) MUST_CHECK;
/* The incident of the failure, which is in the store, has another fault than this one. */
enum status stall_is_named_otherwise(struct store_reader *reader, struct arena *arena, const struct job_row *job,
	const struct known_fault *fault, bool *out, struct error *err) MUST_CHECK;
void stall_publish_failed(struct pipeline *pipeline, const struct job_failed_incident *failed);
