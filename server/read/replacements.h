/*
 * Job: machines of a job that were replaced: which took which stream from which, why, how long it took, and whether the fault went
 *      away with the machine. A pair of machines that sent a stream one after the other is a replacement; those that share it are none,
 *      nor those that went on in another stream of the job. The job that it goes on with counts as before.
 * Ownership: lives in the arena. Threads: any.
 */
#pragma once

#include "store/alerts.h"
#include "store/faults.h"

struct pipeline;

/* Where the fault was seen first behind the replacement. */
enum fault_followed {
	FAULT_UNKNOWN,
	FAULT_TOO_EARLY,
	FAULT_NOT_SEEN_AGAIN,
	FAULT_ON_MACHINE,
	FAULT_IN_STREAM,
	FAULT_JOB_ENDED, /* it was too early, and stays so */
	FAULT_REPLACED_AGAIN /* likewise: another machine came instead of the new one */
};

struct replacement {
	int64_t from_job_id; /* of the old machine: this job, or the one that it goes on with */
	struct span from_job;
	struct span stream, from_host, to_host;
	struct span to_stream; /* the new machine's: another one where ranks were numbered anew */
	size_t moved; /* healthy machines between the two, each of which went on in another stream */
	uint64_t line; /* the first of the new machine, in its stream */
	int64_t at_ms; /* log time of that */
	int64_t last_ms; /* log time of the old one's last line; 0: not known */
	int64_t took_ms;
	bool is_by_arrival; /* by when the lines came: their own times do not say it */
	const struct node_fault_row *fault; /* of the old machine; NULL: none is known, then: */
	const struct incident_row *incident; /* NULL: none, either */
	bool is_of_symptom; /* which may be another machine's: its own tells of it first */
	enum fault_followed followed;
	const struct node_fault_row *again; /* NULL: it was not seen */
	struct span again_job;
	int64_t observed_ms; /* for so long the new machine has worked since */
	int64_t needed_ms; /* and so long without the fault says that it is gone */
};

struct replacement_report {
	struct span job;
	int64_t job_id;
	struct replacement *rows; /* newest first */
	size_t count, left_out; /* left_out: older ones */
	size_t shared; /* streams that several machines send at once: nothing is said of these */
};

/* The newest `limit`. ERR_NOT_FOUND names the job. */
enum status replacements_read(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	struct span job, size_t limit, struct replacement_report *out, struct error *err) MUST_CHECK;
const char *fault_followed_name(enum fault_followed followed); /* NULL: there is no fault to follow */
