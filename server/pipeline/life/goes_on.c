#include "pipeline/life/goes_on.h"

#include "pipeline/life/life.h"
#include "pipeline/life/log_end.h"
#include "store/jobs.h"
#include "store/told.h"
#include "store/transitions.h"

/* ---- ends that nobody dated ---- */

static bool is_undated_end(const struct told_row *row)
{
	return row->source == SOURCE_STATED && row->is_undated;
}

/* Of the same status it is the same end, and has its own time: nothing is behind it. */
static enum status date_ends_before(struct store_tx *tx, int64_t job_id, struct told_row *rows, size_t count,
	const struct told_row *told, int64_t at_ms, struct error *err)
{
	for (size_t i = 0; i < count; i++) {
		if (!is_undated_end(&rows[i]) || span_equal(rows[i].status, told->status))
			continue;
		TRY(store_delete_told(tx, job_id, &rows[i], err));
		rows[i].start_ms = rows[i].start_ms < at_ms ? rows[i].start_ms : at_ms;
		rows[i].is_undated = false;
		TRY(store_put_told(tx, job_id, &rows[i], err));
	}
	return OK;
}

/* Once the job goes on, or was said to have ended otherwise since, its log says no more when it ended before: that is settled with what is
 * known now. Else what its log gets later would move that end behind the one that has a time. What makes no job go on is marked as told
 * behind the end, which moves with the log as before. */
static enum status settle_undated(const struct life *life, struct store_tx *tx, const struct job_row *job,
	struct told_row *told, struct error *err)
{
	bool has_any = false;
	struct told_row *rows;
	struct log_end end;
	size_t count;

	TRY(store_has_undated(store_tx_reader(tx), job->job_id, &has_any, err));
	if (!has_any)
		return OK;
	TRY(store_read_told_facts(store_tx_reader(tx), life->arena, job->job_id, &rows, &count, err));
	has_any = false;
	for (size_t i = 0; i < count; i++)
		has_any |= is_undated_end(&rows[i]);
	if (!has_any)
		return OK;
	TRY(log_end_of_job(life->pipeline, store_tx_reader(tx), job->name, &end, err));
	if (!log_end_is_past(&end) || told->start_ms <= end.last_ms || told_goes_on_after(rows, count, end.last_ms))
		return OK;
	if (phase_is_resume(told->status) || phase_is_final(told->status))
		return date_ends_before(tx, job->job_id, rows, count, told, end.last_ms, err);
	told->lifts_ms = end.last_ms;
	return OK;
}

/* ---- ends that follow from exits ---- */

/* How the processes of the run before ended is no end of the one that begins, however late it was told. */
static enum status leave_exits(const struct life *life, struct store_tx *tx, const struct job_row *job,
	const struct told_row *told, struct error *err)
{
	struct held_row *held;
	size_t count;

	TRY(store_read_held(store_tx_reader(tx), life->arena, job->job_id, &held, &count, err));
	for (size_t i = 0; i < count; i++)
		if (held[i].has_exit && held[i].exit_ms < told->start_ms && held[i].opened_ms >= told->start_ms)
			TRY(store_put_session(tx, job->job_id, held[i].stream_id, held[i].exit_ms, err));
	return OK;
}

static enum status settle_exit(const struct life *life, struct store_tx *tx, const struct job_row *job,
	const struct told_row *told, struct error *err)
{
	struct history known;

	TRY(life_read_known(life->pipeline, store_tx_reader(tx), life->arena, job, &known, err));
	const struct transition_row *last = known.count ? &known.rows[known.count - 1] : NULL;
	if (!last || last->source != SOURCE_EXIT || !phase_is_final(last->status) || last->start_ms >= told->start_ms)
		return OK;
	TRY(store_put_told(tx, job->job_id,
		&(struct told_row){.status = last->status,
			.message = last->message,
			.reason = SPAN(""),
			.start_ms = last->start_ms,
			.source = SOURCE_EXIT},
		err));
	return leave_exits(life, tx, job, told, err);
}

enum status life_settle_end(const struct life *life, struct store_tx *tx, const struct job_row *job,
	struct told_row *told, struct error *err)
{
	if (told->is_undated)
		return OK;
	TRY(settle_undated(life, tx, job, told, err));
	return phase_is_resume(told->status) ? settle_exit(life, tx, job, told, err) : OK;
}
