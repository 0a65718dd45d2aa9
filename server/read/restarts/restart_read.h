/*
 * Job: the restart of a failed job: whether it is due, from which checkpoint, without which machines, as who starts it is told
 *      (docs/restarts.md).
 * Ownership: in the arena. Threads: any but the writer, for which restart_read waits.
 */
#pragma once

#include "base/json/json_write.h"
#include "state/streams/job_view.h"
#include "store/faults.h"
#include "store/store.h"

struct pipeline;
struct run_link;

struct restart {
	struct pipeline *pipeline; /* this and the next five: of who asks */
	struct store_reader *reader;
	struct arena *arena;
	int64_t now_ms;
	struct span
		team; /* of who is told: of jobs of other teams, which may say that they are of any run, nothing is; "": of all */
	struct job_view view; /* without series */
	const struct run_link *links; /* the job's run up to this job, oldest first */
	size_t link_count;
	struct span successor; /* that goes on with it; "": none does */
	struct checkpoint_row checkpoint; /* the run's newest; step -1: none is known */
	struct span checkpoint_job;
	struct checkpoint_row passed_over; /* newer than that, but nothing can go on from it; step -1: none */
	struct span passed_over_job;
	bool is_taken_back; /* of passed_over: a later restart undid its attempt (read/charts/continuity_read.h) */
	size_t first; /* link: before it the run went another way (fork_from) */
	size_t progress_link; /* of which, and when, the run's highest step was saved first */
	int64_t progress_step, progress_ms; /* -1: none was */
	int64_t failures; /* of the run */
	int64_t failures_in_row; /* of these, since then */
};

/* All lines of the job were looked at: a newer checkpoint is in none of them. */
bool restart_is_extracted(const struct job_view *view);
enum status restart_read(struct restart *r, struct error *err) MUST_CHECK;
bool restart_is_due(const struct restart *r);
/* Members of an object. A document of more bytes is null. */
enum status restart_write(
	const struct restart *r, size_t document_max_bytes, struct json_writer *w, struct error *err) MUST_CHECK;
/* {"type":"job.restart","timestamp","data":{the same, "summary","url"}}: what webhooks are told. */
enum status restart_write_message(
	const struct restart *r, struct span public_url, struct buf *out, struct error *err) MUST_CHECK;
