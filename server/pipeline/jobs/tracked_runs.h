/*
 * Job: runs of experiment trackers as jobs: made, changed and ended by what a tracker's client says. The id of a run is the tracker's key;
 *      the job has a name of its own, PROJECT/RUN, or the first of PROJECT/RUN-2, PROJECT/RUN-3 … that is free: two runs are never one job.
 * Ownership: spans are the caller's. Threads: workers; they wait for the writer.
 */
#pragma once

#include "pipeline/jobs/tracked_document.h"
#include "store/tracked_runs.h"

struct pipeline;

struct run_making {
	struct span team;
	struct span project; /* its name */
	struct span job; /* that it is to be, where that one can be had; "": one of its own */
	const struct tracked_pairs *settings, *tags;
	int64_t now_ms;
	struct tracked_run_row row; /* job_id is set */
};
/* ERR_CONFLICT: there is a run of this id. */
enum status pipeline_make_run(struct pipeline *pipeline, struct run_making *making, struct error *err) MUST_CHECK;

/* What is stated of a run anew: settings and tags, or its status. */
struct run_change {
	struct span team;
	struct span run_id;
	const struct tracked_pairs *settings, *tags; /* NULL: none */
	struct span name; /* "": as it is */
	struct span status; /* in the tracker's words; "": as it is */
	int64_t end_ms; /* 0: not said */
	int64_t start_ms; /* when all of it began, said only now: an earlier time than is known counts; 0: not said */
	bool is_part; /* of a run that has ended: what began so early is a process before those that are known */
	int64_t resumed_ms; /* when it went on, with a status that is none of an end; 0: now */
	const struct span *inputs; /* JSON values that are added to its inputs, unless they are there */
	size_t input_count;
	struct span secondary; /* the job's status that goes with it; "": none */
	struct span
		relayed_by; /* the job of the sm-ship under which it was said, which is billed for that time; "": none */
	bool may_outlive; /* with end_ms: several processes may end the run, and what it logged behind an earlier end says that it went on */
	bool leaves_log; /* with an end: the training goes on, and its log with it */
	struct span reason; /* of a failure */
	int64_t now_ms;
	/* What comes back. */
	struct span job; /* the arena's */
};
enum status pipeline_change_run(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	struct run_change *change, struct error *err) MUST_CHECK;
