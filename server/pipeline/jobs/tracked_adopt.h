/*
 * Job: a run that becomes a job which is there already: what ships the log of a training names that job, and the tracker's run of the
 *      same training is no second one.
 * Ownership: spans are the caller's, then the arena's and the buf's. Threads: the writer.
 */
#pragma once

#include "pipeline/jobs/tracked_document.h"
#include "store/jobs.h"
#include "store/tracked_runs.h"

struct adoption {
	struct span team, job; /* of the token; its name */
	struct span run_id, project; /* its name */
	int64_t project_id;
	const struct tracked_pairs *settings, *tags;
	int64_t start_ms, now_ms;
};
/*
 * *out: the job, with the run's settings and tags in its document, when it is the token's to write to and no run yet. *is_free: there is no
 * job of that name. Else neither: the run needs a name of its own. shared: its run, where what the log of that job prints is of this run, too,
 * or alone, from now on, and as it was before. is_within: there is a run of that job, whose training had not ended when this one began: its time
 * is billed there.
 */
struct adopted {
	bool is, is_free, is_within;
	struct tracked_run_row before, shared; /* job_id 0: none */
	struct job_row row; /* its document is in `document` */
};
enum status run_adopt_job(struct store_tx *tx, struct arena *arena, const struct adoption *asked, struct buf *document,
	struct adopted *out, struct error *err) MUST_CHECK;

/* The run of the job whose log was lent: job_id 0, or as it was and has become. */
struct lending {
	struct span job;
	struct tracked_run_row before, run;
};
/*
 * A later run of a training has ended, which last began or went on at begun_ms: what the log says from then on is of the log's job again, once none
 * of them is open, and nobody else tells it.
 */
enum status run_give_log_back(struct store_tx *tx, struct arena *arena, const struct job_row *job, int64_t begun_ms,
	int64_t end_ms, struct lending *out, struct error *err) MUST_CHECK;
/* One goes on under the sm-ship of that job: the log is lent as to one that begins. */
enum status run_lend_log_again(struct store_tx *tx, struct arena *arena, const struct job_row *job, struct span shipped,
	int64_t resumed_ms, struct lending *out, struct error *err) MUST_CHECK;
