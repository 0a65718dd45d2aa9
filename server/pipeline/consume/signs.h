/*
 * Job: signatures in the lines of one stream: the present stretch of each (lines of one machine, less than a quarter of an hour apart), for
 *      the store: an incident of the job, a fault of the machine, a checkpoint.
 * Ownership: new/free; a stream's. Threads: the stream's lock; what goes to the store is written by the writer.
 *
 * Deterministic: the same lines give the same stretches; the state is packed with the stream's, so that a replay goes on counting
 * where the sealed lines ended, and its rows are found again by (job, stream, signature, first line).
 */
#pragma once

#include "extract/line/named_host.h"
#include "extract/line/signature.h"
#include "pipeline/alert/incident_effects.h"
#include "state/streams/directory.h"
#include "state/watchers/sign_state.h"
#include "store/alerts.h"
#include "store/faults.h"
#include "store/jobs.h"

struct pipeline;

/* Longer without a line of it ends a stretch; what is nearer in time is one incident, also of several streams. */
enum { SIGN_QUIET_MS = 15 * 60 * 1000 };

/* Under the stream's lock: a line; then, behind the last line of a slice, what is new goes to the writer. */
enum status signs_feed(struct pipeline *pipeline, struct stream_state *stream, const struct extract_line *line,
	int64_t ts_ms, int64_t arrival_ms, struct regex_scratch *scratch, struct error *err) MUST_CHECK;
enum status signs_hand_over(struct pipeline *pipeline, struct stream_state *stream, struct error *err) MUST_CHECK;

/* ---- fault_write.c: the writer's part ---- */
struct stretch { /* texts are the caller's */
	const struct signature *signature;
	struct span stream; /* its name */
	struct span host; /* that its lines name; "": whose they are */
	enum naming naming;
	struct signature_hit_row hit; /* but its incident */
	bool is_historic;
};
struct stretch_told { /* what must be said after the commit */
	struct incident_row rows[4];
	struct incident_effects told[4];
	size_t count;
	bool is_new_of_machine; /* a fault of a machine, told for the first time */
};
/* Which incident it belongs to is decided here, once. names live in the arena. */
enum status fault_write(struct pipeline *pipeline, struct store_tx *tx, struct arena *arena, const struct job_row *job,
	const struct stretch *stretch, struct stretch_told *out, struct error *err) MUST_CHECK;
/* A job that ran on the machine is told what the log of another one, told_by, said of it, unless it knows already. */
enum status fault_tell_job(struct pipeline *pipeline, struct store_tx *tx, struct arena *arena,
	const struct job_row *told_by, const struct stretch *stretch, const struct job_row *job,
	struct stretch_told *out, struct error *err) MUST_CHECK;

/* Maintenance thread: ends the incidents that nothing was said of for long enough, or whose fault was cleared. */
void faults_run(struct pipeline *pipeline, struct store_reader *reader);

/* A checkpoint's line: the one function that writes them. Under the stream's lock. */
enum status checkpoint_take(struct pipeline *pipeline, struct stream_state *stream, const struct checkpoint_row *row,
	struct error *err) MUST_CHECK;
