/*
 * Job: what server/fleet/continuity.h judges the restarts of a job by: the loss, the learning rate and the place in the data that were
 *      printed around each, in the stream that has the loss of most attempts; where it goes on with other jobs, what those printed, too.
 * Ownership: lives in the arena. Threads: any.
 */
#pragma once

#include "base/json/json_read.h"
#include "fleet/continuity.h"
#include "store/store.h"

struct pipeline;

enum { CONTINUITY_RESTARTS_MAX = 100 };

struct continuity_restart {
	uint32_t attempt; /* that it began */
	struct span continues; /* the nearest one with a loss of those that the first attempt goes on with; "" */
	int64_t from_step; /* it went on from: a checkpoint that fits, else one print before its first */
	int64_t checkpoint_step; /* the newest in front of its first step that the log told of; -1: none */
	int64_t newest_checkpoint_step; /* of all that were told of before it; -1: none */
	uint32_t before_attempt; /* that differed: this one goes on from before it, and is compared with that; 0 */
	struct span before_job; /* whose attempt that is; "": the same job's */
	bool takes_back; /* so the restart of before_attempt is undone */
	int64_t began_ms; /* its first loss by the log; INT64_MAX: none is known */
	int64_t undone_from_ms; /* the same of what is as if it had not been */
	struct continuity judged;
	enum continuity_verdict verdict; /* as judged, unless somebody knows better: */
	bool is_by_hand;
	struct span why_by_hand, set_by; /* set_by "": it is not known */
};

struct continuity_report {
	struct span metric, stream, rate_metric, data_metric; /* "": there is none */
	struct continuity_restart *restarts; /* oldest first */
	size_t count, left_out; /* left_out: older ones */
	size_t pending; /* newest ones that have printed no loss yet */
};

/* What counts of a restart that was judged; document: its job's. */
enum status continuity_settle(const struct json *document, struct continuity_restart *restart, struct arena *arena,
	struct error *err) MUST_CHECK;

/* The newest `limit` restarts. ERR_NOT_FOUND names the job. */

enum status continuity_read(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	struct span job, size_t limit, struct continuity_report *out, struct error *err) MUST_CHECK;

/* Before the job is read: of a crash loop there may be hundreds that printed nothing. */
struct run_link;
bool continuity_may_have_loss(struct pipeline *pipeline, const struct run_link *link);

/* What the restarts of the job, and of the jobs that it goes on with, took back. *has_loss false: it printed none, so nothing is known of it. */
struct undone {
	int64_t from_ms, to_ms; /* log times; without the latter */
};
enum status continuity_read_undone(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	struct span job, struct undone **out, size_t *count, bool *has_loss, struct error *err) MUST_CHECK;

/* A restart in the middle of an attempt: at to_ms the training printed the step on which it had ended again, so that no step fell back. */
enum status continuity_read_at(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	struct span job, uint32_t attempt, int64_t to_ms, int64_t first_step, struct continuity *out,
	struct error *err) MUST_CHECK;
