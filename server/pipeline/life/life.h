/*
 * Job: the life of a job in the writer's transactions. Whoever learns something of it (a door, a line, a session, the clock) puts a
 *      fact and calls life_write, which makes the history of all facts anew (history.h) and gives the job's row what follows.
 * Ownership: spans are the caller's. Threads: the writer's, but for what says otherwise.
 */
#pragma once

#include "pipeline/life/stall.h"
#include "state/streams/directory.h"
#include "state/jobs/history_by_hand.h"
#include "state/known_fault.h"
#include "store/jobs.h"

struct pipeline;

/* A job's first fact; its row is in the store, and says the same. */
enum status life_begin(
	struct store_tx *tx, const struct job_row *row, struct span message, struct error *err) MUST_CHECK;

struct life {
	struct pipeline *pipeline;
	struct arena *arena; /* lives as long as `failed` is needed */
	int64_t now_ms;
	/* What comes back. After the commit: life_say. */
	struct history history; /* as it is shown */
	struct history known; /* but for what was set by hand */
	bool has_given_way; /* as history_by_hand.h has it */
	bool has_changed; /* the history, or what it says of the row */
	struct job_failed_incident failed;
};
/* row: as it is in the store, or with other changes that are to be written where must_write is set. */
enum status life_write(
	struct life *life, struct store_tx *tx, struct job_row *row, bool must_write, struct error *err) MUST_CHECK;
void life_say(const struct life *life);

/* Any thread. What is known of it but for what was set by hand; from what is stored where nothing was set. */
enum status life_read_known(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	const struct job_row *row, struct history *out, struct error *err) MUST_CHECK;
/* The same of the time in which lies what made a job fail, and of when it did. row: of one that has failed. */
enum status life_read_fault_window(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	const struct job_row *row, struct fault_window *out, int64_t *failed_ms, struct error *err) MUST_CHECK;
/* The job's history (life_read_known) is on disk, or is read from there: RAM knows from it which lines would change it. */
void life_note(struct job_state *job, const struct history *history);

/* Senders that go on after a start open their sessions again within a lease: until then who has an exit alone may not be all there are. */
bool life_is_within_lease(const struct pipeline *pipeline);

/* In the transaction of an end that is told: the same end, told before the session rows[session], is none of a run any more. */
enum status life_end_lifted(struct store_tx *tx, int64_t job_id, const struct told_row *rows, size_t session,
	const struct told_row *told, struct error *err) MUST_CHECK;
