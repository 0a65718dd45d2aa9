/*
 * Job: runs: jobs that go on where others ended, by what they state (their tag "continues"), and what only looks so.
 *      Read from the attributes of documents: a run is nobody's row, and cannot be out of date.
 * Ownership: spans in the arena that the caller gives. Threads: as store_reader.
 */
#pragma once

#include "store/store.h"

enum { RUN_JOBS_MAX = 1000 };

struct run_link {
	int64_t job_id;
	struct span job;
	struct span status;
	int64_t created_ms;
	struct span continues; /* the job that it states to go on with, which need not be here; "" */
	struct span fork_from; /* where it left that one, which goes on as well; "": it is no fork */
	struct span team;
	bool has_series; /* sealed ones: what is in RAM alone is not in it */
};

/*
 * The job with all that it goes on with, oldest first, then all that goes on with it, each behind the one that it goes on with;
 * at most RUN_JOBS_MAX. A circle is left where it closes. *at: the job's own place. ERR_NOT_FOUND names the job.
 */
enum status store_read_run(struct store_reader *reader, struct arena *arena, struct span job, struct run_link **out,
	size_t *count, size_t *at, struct error *err) MUST_CHECK;

/* The job that it states to go on with, which need not be here; "": none. */
enum status store_read_continued(struct store_reader *reader, struct arena *arena, int64_t job_id, struct span *out,
	struct error *err) MUST_CHECK;

/* ERR_SEMANTIC: the jobs that this one goes on with go on with it. (That a job names itself says nothing.) */
enum status store_check_run(
	struct store_reader *reader, struct arena *arena, struct span job, struct error *err) MUST_CHECK;

struct run_proposal {
	struct span continues;
	struct span reason;
};
enum { RUN_PROPOSALS_MAX = 8 };
/* Which older jobs it looks like it goes on with; none when it states one. */
enum status store_propose_run(struct store_reader *reader, struct arena *arena, const struct run_link *job,
	struct run_proposal out[RUN_PROPOSALS_MAX], size_t *count, struct error *err) MUST_CHECK;
