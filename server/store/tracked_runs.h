/*
 * Job: runs and projects as clients of experiment trackers know them: each run is a job, and has an id of the tracker's.
 * Ownership and threads: as store.h.
 */
#pragma once

#include "store/store.h"

struct tracked_project_row {
	int64_t project_id; /* 0 in store_add_tracked_project, then set */
	struct span team;
	struct span name;
	struct span tags; /* JSON object */
	struct span artifacts; /* where its runs' files are */
	int64_t created_ms, modified_ms;
};
enum status store_add_tracked_project(
	struct store_tx *tx, struct tracked_project_row *row, struct error *err) MUST_CHECK;
enum status store_put_tracked_project(
	struct store_tx *tx, const struct tracked_project_row *row, struct error *err) MUST_CHECK;
/* ERR_NOT_FOUND */
enum status store_read_tracked_project(struct store_reader *reader, struct arena *arena, int64_t project_id,
	struct tracked_project_row *out, struct error *err) MUST_CHECK;
enum status store_find_tracked_project(struct store_reader *reader, struct arena *arena, struct span team,
	struct span name, struct tracked_project_row *out, struct error *err) MUST_CHECK;
/* The team's, the newest first, below that number. */
enum status store_read_tracked_projects(struct store_reader *reader, struct arena *arena, struct span team,
	int64_t below, size_t limit, struct tracked_project_row **out, size_t *count, struct error *err) MUST_CHECK;

/* Of a run's status, whichever tracker it is of. */
#define TRACKED_RUNNING SPAN("RUNNING")
#define TRACKED_FINISHED SPAN("FINISHED")

struct tracked_run_row {
	int64_t job_id;
	struct span run_id;
	int64_t project_id;
	struct span name;
	struct span user_name;
	struct span status; /* in MLflow's words */
	int64_t start_ms, end_ms;
	struct span artifacts; /* where clients put files */
	struct span inputs; /* JSON array */
	/* From when to when its job's log is told by no tracker, though the training goes on. 0: there is no such time; it is so still. */
	int64_t log_alone_ms, log_alone_until_ms;
	bool log_is_shared; /* by a run of the training that began beside it, which is a job of its own: there will be no such time again */
	/* From when to when its job's log is of other such runs alone: they began, or went on, when it had ended. 0: there is no such time; it is so still. */
	int64_t log_lent_ms, log_lent_until_ms;
	uint32_t log_lent_runs; /* that have not ended */
};
/* A new one, or all columns of the job's. */
enum status store_put_tracked_run(struct store_tx *tx, const struct tracked_run_row *row, struct error *err) MUST_CHECK;
/* ERR_NOT_FOUND */
enum status store_read_tracked_run(struct store_reader *reader, struct arena *arena, struct span run_id,
	struct tracked_run_row *out, struct error *err) MUST_CHECK;
/* The run that the job is. ERR_NOT_FOUND: it is none; no text. */
enum status store_read_run_of_job(struct store_reader *reader, struct arena *arena, int64_t job_id,
	struct tracked_run_row *out, struct error *err) MUST_CHECK;
/* Nested runs: by the tag of the inner one, as MLflow has it. */
enum { RUN_CHILDREN_MAX = 100 };
struct run_family {
	struct span parent; /* the name of a job; "": none that is here */
	struct run_child {
		struct span job;
	} * children; /* the oldest first */
	size_t child_count;
	bool has_more; /* than RUN_CHILDREN_MAX */
};
enum status store_read_run_family(struct store_reader *reader, struct arena *arena, int64_t job_id,
	struct run_family *out, struct error *err) MUST_CHECK;
/* A project's that are not in the trash, without artifacts, inputs and what is known of the log, the newest first, behind the place (start_ms, job_id) in this order; INT64_MAX twice: from the first. */
struct tracked_run_place {
	int64_t start_ms, job_id;
};
enum tracked_runs { TRACKED_ACTIVE, TRACKED_IN_TRASH, TRACKED_ALL };
enum status store_read_tracked_runs(struct store_reader *reader, struct arena *arena, int64_t project_id,
	enum tracked_runs which, const struct tracked_run_place *behind, size_t limit, struct tracked_run_row **out,
	size_t *count, struct error *err) MUST_CHECK;

/* Those that are not in the trash, the oldest first: INT64_MIN twice for the first of them. */
enum status store_read_tracked_runs_upward(struct store_reader *reader, struct arena *arena, int64_t project_id,
	const struct tracked_run_place *behind, size_t limit, struct tracked_run_row **out, size_t *count,
	struct error *err) MUST_CHECK;

/* Of a run: a file that its client sends line by line. */
struct tracked_file_row {
	int64_t job_id;
	struct span name;
	uint64_t origin; /* of its first line; 0: nothing came yet */
	uint64_t next_line;
	struct span content; /* the tracker's door says what */
};
enum status store_put_tracked_file(
	struct store_tx *tx, const struct tracked_file_row *row, struct error *err) MUST_CHECK;
/* One that never came is empty. */
enum status store_read_tracked_file(struct store_reader *reader, struct arena *arena, int64_t job_id, struct span name,
	struct tracked_file_row *out, struct error *err) MUST_CHECK;
/* Files of the job that are called NAME and a blank, and whatever behind that. */
enum status store_count_tracked_files(
	struct store_reader *reader, int64_t job_id, struct span name, uint64_t *count, struct error *err) MUST_CHECK;
/* Is the job (still) a tracker's run? */
enum status store_is_tracked_run(struct store_reader *reader, int64_t job_id, bool *is, struct error *err) MUST_CHECK;
