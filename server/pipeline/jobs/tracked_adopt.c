#include "pipeline/jobs/tracked_adopt.h"

#include "base/json/json_write.h"
#include "pipeline/commit/resolve.h"
#include "pipeline/life/pools.h"
#include "store/tracked_runs.h"

static bool set_members(struct json *document, const struct json *members)
{
	return json_set_copy(document, "TrackedRunId", json_get(members, "TrackedRunId")) &&
	       json_set_copy(document, "TrackedProjectId", json_get(members, "TrackedProjectId")) &&
	       json_set_copy(document, "TrackedProject", json_get(members, "TrackedProject"));
}

/* The job's own document, and by what searches find the run. */
static enum status write_document(struct span old, const struct adoption *asked, struct buf *out, struct error *err)
{
	AUTO_DONE(buf) bare = BUF_INIT(8192);
	AUTO_DONE(buf) marked = BUF_INIT(out->max_bytes);
	AUTO(json) members = NULL;
	AUTO(json) document = NULL;
	struct json_writer w = json_writer_on(&bare);

	json_object(&w);
	json_put_span(&w, "TrackedRunId", asked->run_id);
	json_put_i64(&w, "TrackedProjectId", asked->project_id);
	json_put_span(&w, "TrackedProject", asked->project);
	json_object_end(&w);
	TRY(buf_status(&bare, err));
	TRY(json_parse(&members, buf_span(&bare), err));
	TRY(json_parse(&document, old, err));
	if (!set_members(document, members))
		return error_no_memory(err);
	json_print(document, &marked);
	TRY(buf_status(&marked, err));
	buf_reset(out); /* after a commit that failed this runs again */
	return tracked_document_write(buf_span(&marked), asked->settings, asked->tags, out, err);
}

/*
 * A run that begins, or goes on, when the job's own is over, and well, is the next one of a script that trains several times: what is printed from
 * then on is of that. One that had failed may be the same training, started anew.
 */
static void lend_log(struct tracked_run_row *run, int64_t start_ms)
{
	bool is_lent = run->log_lent_ms && !run->log_lent_until_ms;
	bool was_lent = run->log_lent_ms && run->end_ms <= run->log_lent_ms; /* and it has not gone on since */

	if (!is_lent && !was_lent)
		run->log_lent_ms = start_ms > run->end_ms ? start_ms : run->end_ms;
	run->log_lent_until_ms = 0;
	run->log_lent_runs = is_lent ? run->log_lent_runs + 1 : 1;
}

/* Who began or went on at that time tells what the log prints. */
static void end_alone(struct tracked_run_row *run, int64_t start_ms)
{
	if (!run->log_alone_until_ms)
		run->log_alone_until_ms = start_ms;
}

static bool share_log(struct tracked_run_row *run, int64_t start_ms)
{
	bool is_next = span_equal(run->status, TRACKED_FINISHED);

	if (run->log_is_shared && !is_next)
		return false;
	end_alone(run, start_ms);
	if (is_next)
		lend_log(run, start_ms);
	else
		run->log_is_shared = true;
	return true;
}

enum status run_adopt_job(struct store_tx *tx, struct arena *arena, const struct adoption *asked, struct buf *document,
	struct adopted *out, struct error *err)
{
	struct store_reader *reader = store_tx_reader(tx);
	struct tracked_run_row run = {0};

	*out = (struct adopted){0};
	enum status status = store_read_job(reader, arena, asked->job, &out->row, err);
	out->is_free = status == ERR_NOT_FOUND;
	if (out->is_free)
		return OK;
	TRY(status);
	if (check_team(out->row.team, out->row.name, asked->team, NULL) != OK)
		return OK;
	status = store_read_run_of_job(reader, arena, out->row.job_id, &run, err);
	struct tracked_run_row before = run;
	out->is_within = status == OK && (!out->row.ended_ms || asked->start_ms <= out->row.ended_ms);
	if (out->is_within && share_log(&run, asked->start_ms)) {
		out->before = before;
		out->shared = run;
		status = store_put_tracked_run(tx, &run, err);
	}
	if (status != ERR_NOT_FOUND)
		return status;
	TRY(write_document(out->row.document, asked, document, err));
	out->row.document = buf_span(document);
	out->row.modified_ms = asked->now_ms;
	out->is = true;
	return pools_put_job(tx, &out->row, err);
}

/* The run of the job that is billed for this one's time: job_id 0 where there is none. */
static enum status find_owner(struct store_reader *reader, struct arena *arena, const struct job_row *job,
	struct job_row *owner, struct tracked_run_row *run, struct error *err)
{
	AUTO(json) document = NULL;

	*run = (struct tracked_run_row){0};
	TRY(json_parse(&document, job->document, err));
	struct span name = tracked_billed_in(document);
	enum status status = name.len ? store_read_job(reader, arena, name, owner, err) : ERR_NOT_FOUND;
	if (status == OK && check_team(owner->team, owner->name, job->team, NULL) != OK)
		return OK; /* a tag that a client made up */
	if (status == OK)
		status = store_read_run_of_job(reader, arena, owner->job_id, run, err);
	return status == ERR_NOT_FOUND ? OK : status;
}

enum status run_give_log_back(struct store_tx *tx, struct arena *arena, const struct job_row *job, int64_t begun_ms,
	int64_t end_ms, struct lending *out, struct error *err)
{
	struct tracked_run_row run;
	struct job_row owner;

	*out = (struct lending){0};
	TRY(find_owner(store_tx_reader(tx), arena, job, &owner, &run, err));
	if (!run.log_lent_ms || run.log_lent_until_ms || begun_ms < run.end_ms)
		return OK;
	*out = (struct lending){.job = owner.name, .before = run, .run = run};
	out->run.log_lent_runs -= out->run.log_lent_runs > 0;
	if (!out->run.log_lent_runs) {
		out->run.log_lent_until_ms = end_ms > run.log_lent_ms ? end_ms : run.log_lent_ms;
		out->run.log_alone_ms = run.log_is_shared ? run.log_alone_ms : out->run.log_lent_until_ms;
		out->run.log_alone_until_ms = run.log_is_shared ? run.log_alone_until_ms : 0;
	}
	return store_put_tracked_run(tx, &out->run, err);
}

enum status run_lend_log_again(struct store_tx *tx, struct arena *arena, const struct job_row *job, struct span shipped,
	int64_t resumed_ms, struct lending *out, struct error *err)
{
	struct tracked_run_row run;
	struct job_row owner;

	*out = (struct lending){0};
	TRY(find_owner(store_tx_reader(tx), arena, job, &owner, &run, err));
	if (!run.job_id || !span_equal(owner.name, shipped) || !span_equal(run.status, TRACKED_FINISHED) ||
		(owner.ended_ms && resumed_ms > owner.ended_ms))
		return OK;
	*out = (struct lending){.job = owner.name, .before = run, .run = run};
	(void)share_log(&out->run, resumed_ms);
	return store_put_tracked_run(tx, &out->run, err);
}
