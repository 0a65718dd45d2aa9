/* What somebody states of a job's status by itself: POST /transitions, sm-ship, a stop. The writer's transaction decides. */
#include "pipeline/jobs/job_transition.h"

#include "base/clock.h"
#include "base/text/iso8601.h"
#include "pipeline/commit/resolve.h"
#include "pipeline/life/goes_on.h"
#include "pipeline/life/halts.h"
#include "pipeline/jobs/life_run.h"
#include "pipeline/life/life.h"
#include "pipeline/life/log_end.h"
#include "pipeline/life/told_runs.h"
#include "state/streams/directory.h"
#include "state/execute.h"
#include "state/pipeline_state.h"
#include "store/goodput.h"
#include "store/jobs.h"
#include "store/transitions.h"

#include <stdio.h>

struct change {
	struct pipeline *pipeline;
	struct span job;
	struct span team;
	const struct job_transition *transition;
	struct arena *arena;
	struct life life;
	char *ignored; /* TRANSITION_REASON_BYTES; "": it counts */
	int64_t halted_id; /* the job, if its log is to be asked whether it trained since; 0: it is not */
};

static enum status read_own_job(
	const struct change *change, struct store_reader *reader, struct job_row *row, struct error *err)
{
	TRY(store_read_job(reader, change->arena, change->job, row, err));
	return check_team(row->team, row->name, change->team, err);
}

/* Many processes tell how they fare, and the first word about the end counts: decided here, where nobody can be between. */
static enum status check_unless(const struct json *unless, const struct job_row *row, struct error *err)
{
	for (const struct json *entry = unless ? json_first(unless) : NULL; entry; entry = json_next(entry))
		if (span_equal(json_string_of(entry), row->status))
			return error_set_field(err, ERR_CONFLICT, "unless", "job '%.*s' is %.*s already",
				SPAN_ARGS(row->name), SPAN_ARGS(row->status));
	return OK;
}

/* Without a time it can only be what comes next: after an end (but for a stop that is presumed) that is no earlier phase, but for a
 * restart. Whoever says how it ended knows better than who only saw where its log does. */
static bool is_backwards(const struct told_row *told, const struct transition_row *last)
{
	bool is_presumed = last && last->source == SOURCE_ASSUMED &&
			   (span_equal(last->status, SPAN("Stopped")) || phase_is_final(told->status));

	return last && phase_is_final(last->status) && !is_presumed && !span_equal(told->status, SPAN("Restarting")) &&
	       phase_is_before(told->status, last->status);
}

/* status "": any. 0: none. */
static int64_t newest_stated(const struct told_row *rows, size_t count, struct span status)
{
	int64_t newest_ms = 0;

	for (size_t i = 0; i < count; i++)
		if (rows[i].source == SOURCE_STATED && rows[i].start_ms > newest_ms &&
			(!status.len || span_equal(status, rows[i].status)))
			newest_ms = rows[i].start_ms;
	return newest_ms;
}

static bool is_undated(const struct job_transition *transition)
{
	return !transition->has_time &&
	       (phase_is_final(transition->secondary) || span_equal(transition->secondary, SPAN("Stopping")));
}

/*
 * What bears no time, or depends on how things stand (unless), is said of the present: clocks that differ must not put it before
 * what it follows. The same again is no news.
 */
static void place(const struct change *change, const struct transition_row *last, const struct told_row *rows,
	size_t count, struct told_row *told)
{
	const struct job_transition *transition = change->transition;
	int64_t newest_ms = newest_stated(rows, count, SPAN(""));

	bool is_again = last && span_equal(last->status, told->status) && !transition_is_assumed(last);

	if (transition->has_time && !transition->unless)
		return;
	if (is_again && (!transition->has_time || told->start_ms > last->start_ms)) {
		int64_t known_ms = newest_stated(rows, count, told->status); /* shown at another time, if undated */
		told->start_ms = known_ms ? known_ms : last->start_ms;
		return;
	}
	if (transition->has_time && !phase_is_final(told->status))
		return;
	int64_t least_ms = newest_ms + (!transition->has_time && last && phase_is_before(told->status, last->status));
	told->start_ms = told->start_ms > least_ms ? told->start_ms : least_ms;
}

/* An end is of one moment: that the job has ended at another one is another statement. One without a time says only that it has. */
static bool shows_end(const struct change *change, const struct transition_row *at, const struct told_row *told)
{
	if (!change->transition->has_time)
		return told->start_ms >= at->start_ms;
	return told->start_ms == at->start_ms &&
	       (told->start_ms >= change->transition->time_ms || change->life.has_changed);
}

static bool shows(const struct change *change, const struct transition_row *at, const struct told_row *told)
{
	if (!span_equal(at->status, told->status) || (at->end_ms && told->start_ms > at->end_ms))
		return false;
	return phase_is_final(told->status) ? shows_end(change, at, told) : told->start_ms >= at->start_ms;
}

/* Its words may be news where its time is none. */
static bool has_new_words(const struct change *change, const struct transition_row *at, const struct told_row *told)
{
	const struct history *history = &change->life.history;
	bool is_last = at + 1 == history->rows + history->count;

	return change->life.has_changed && span_equal(at->status, told->status) &&
	       ((told->message.len && span_equal(told->message, at->message)) ||
		       (told->reason.len && is_last && span_equal(told->reason, history->failure_reason)));
}

static void say_ignored(const struct change *change, const struct told_row *told, const struct job_row *row)
{
	const struct history *history = &change->life.history;
	const struct transition_row *last = history->count ? &history->rows[history->count - 1] : NULL;
	char since[ISO8601_BYTES] = "";

	for (size_t i = 0; i < history->count; i++)
		if (shows(change, &history->rows[i], told) || has_new_words(change, &history->rows[i], told))
			return;
	if (last)
		iso8601_format(last->start_ms, since);
	snprintf(change->ignored, TRANSITION_REASON_BYTES, "the job is %.*s%s%s: %.*s at that time changes nothing",
		SPAN_ARGS(row->secondary), last ? " since " : "", since, SPAN_ARGS(told->status));
}

/* Who went on with the job says when it ended: an import of the past, whose session is of today, or of the end that it opened. */
static enum status end_sessions(struct store_tx *tx, int64_t job_id, const struct told_row *rows, size_t count,
	const struct told_row *told, struct error *err)
{
	for (size_t i = 0; i < count && phase_is_final(told->status); i++)
		if (rows[i].source == SOURCE_SESSION && rows[i].lifts_ms <= told->start_ms &&
			(rows[i].is_undated || rows[i].start_ms > told->start_ms)) {
			TRY(life_end_lifted(tx, job_id, rows, i, told, err));
			TRY(store_delete_told(tx, job_id, &rows[i], err));
		}
	return OK;
}

/*
 * They are all read with each change of the job's life. A script may state the same status each minute, for weeks. Each time is kept, for
 * what is told late may stand between two of them: but not of an end that is stated on and on, or where there is no more room.
 */
static enum status make_room(const struct change *change, struct store_tx *tx, struct told_row *rows, size_t count,
	const struct job_row *row, struct error *err)
{
	size_t most = change->pipeline->options.max_statuses;

	TRY(told_fold_runs(tx, row->job_id, TOLD_FOLD_ENDS, rows, &count, err));
	if (!most || count < most)
		return OK;
	TRY(told_fold_runs(tx, row->job_id, TOLD_FOLD_ALL, rows, &count, err));
	/* its end is always taken */
	if (count < most || phase_is_final(change->transition->secondary))
		return OK;
	return error_set_field(err, ERR_TOO_LARGE, "SecondaryStatus",
		"job '%.*s' has %zu statuses already (--max-statuses)", SPAN_ARGS(row->name), count);
}

static enum status put_told(struct change *change, struct store_tx *tx, const struct job_row *row,
	const struct told_row *told, struct error *err)
{
	TRY(store_put_told(tx, row->job_id, told, err));
	return store_put_status_message(tx, row->job_id,
		&(struct status_message){told->start_ms, told->status, change->transition->message}, err);
}

/* What somebody told is later: between it and what waits before it lines may have come that were none of a training until now. */
static bool is_told_late(const struct told_row *rows, size_t count, const struct told_row *told)
{
	for (size_t i = 0; i < count; i++)
		if (rows[i].source != SOURCE_ASSUMED && rows[i].start_ms > told->start_ms)
			return true;
	return false;
}

static enum status note_halt(
	struct change *change, struct store_tx *tx, const struct job_row *row, bool is_late, struct error *err)
{
	bool is_due = false;

	if (change->transition->has_time && (is_late || phase_is_waiting(change->transition->secondary)))
		TRY(halts_are_due(change->pipeline, store_tx_reader(tx), change->arena, row, &is_due, err));
	change->halted_id = is_due ? row->job_id : 0;
	return OK;
}

static enum status write_transition(void *context, struct store_tx *tx, struct error *err)
{
	struct change *change = context;
	const struct job_transition *transition = change->transition;
	struct told_row told = {.status = transition->secondary,
				.message = transition->message,
				.reason = transition->failure_reason,
				.source = SOURCE_STATED,
				.is_undated = is_undated(transition)},
			*rows;
	struct history known;
	struct job_row row;
	size_t count;

	change->ignored[0] = 0;
	change->halted_id = 0;
	change->life.failed = (struct job_failed_incident){0};
	TRY(read_own_job(change, store_tx_reader(tx), &row, err));
	if (transition->first) {
		TRY(transition->first(transition->context, tx, err));
		TRY(read_own_job(change, store_tx_reader(tx), &row, err)); /* with what it has changed */
	}
	told.start_ms = transition->time_ms;
	TRY(check_unless(transition->unless, &row, err));
	TRY(store_read_told_facts(store_tx_reader(tx), change->arena, row.job_id, &rows, &count, err));
	TRY(life_read_known(change->pipeline, store_tx_reader(tx), change->arena, &row, &known, err));
	const struct transition_row *last = known.count ? &known.rows[known.count - 1] : NULL;
	if (!transition->has_time && is_backwards(&told, last)) {
		snprintf(change->ignored, TRANSITION_REASON_BYTES,
			"the job is %.*s: without time_ms %.*s changes nothing", SPAN_ARGS(last->status),
			SPAN_ARGS(told.status));
		return OK;
	}
	place(change, last, rows, count, &told);
	TRY(end_sessions(tx, row.job_id, rows, count, &told, err));
	TRY(store_read_told_facts(store_tx_reader(tx), change->arena, row.job_id, &rows, &count, err));
	TRY(make_room(change, tx, rows, count, &row, err));
	TRY(life_settle_end(&change->life, tx, &row, &told, err));
	TRY(put_told(change, tx, &row, &told, err));
	TRY(life_write(&change->life, tx, &row, false, err));
	say_ignored(change, &told, &row);
	return note_halt(change, tx, &row, is_told_late(rows, count, &told), err);
}

static void apply_transition(void *context)
{
	struct change *change = context;

	life_say(&change->life);
}

/* What goes on with a job, or says that it ended otherwise, settles where its log ended. A stop is not held up by a log that is read slowly: life_date_ends dates it. */
static bool needs_log_end(struct pipeline *pipeline, struct span name, const struct job_transition *transition)
{
	AUTO(job_state) job = directory_find(pipeline->directory, name);

	if (is_undated(transition))
		return phase_is_final(transition->secondary);
	return job && atomic_load(&job->is_over) &&
	       (phase_is_resume(transition->secondary) || phase_is_final(transition->secondary));
}

/* What is refused as the job stands does not wait until its log is read. Only looked at: nothing for the audit log. */
static enum status check_stands(const struct change *change, struct error *err)
{
	AUTO(store_reader) reader = NULL;
	struct job_row row;

	TRY(store_reader_new(&reader, change->pipeline->options.store, err));
	TRY(read_own_job(change, reader, &row, err));
	return check_unless(change->transition->unless, &row, err);
}

enum status pipeline_add_transition(struct pipeline *pipeline, struct span job, struct span team,
	const struct job_transition *transition, char ignored[TRANSITION_REASON_BYTES], struct error *err)
{
	AUTO(arena) arena = arena_new();
	char unheard[TRANSITION_REASON_BYTES];
	struct change change = {.pipeline = pipeline,
		.job = job,
		.team = team,
		.transition = transition,
		.arena = arena,
		.ignored = ignored ? ignored : unheard};

	if (!arena)
		return error_no_memory(err);
	if (!phase_find(transition->secondary))
		return error_set_field(err, ERR_SEMANTIC, "SecondaryStatus",
			"SecondaryStatus '%.*s' is none of SageMaker's (Starting, Downloading, Training, Uploading, Completed, Failed, Stopped …)",
			SPAN_ARGS(transition->secondary));
	if (needs_log_end(pipeline, job, transition)) {
		TRY(check_stands(&change, err));
		TRY(log_end_await(pipeline, job, err));
	}
	change.life = (struct life){.pipeline = pipeline, .arena = arena, .now_ms = clock_wall_ms()};
	TRY(writer_execute_then(pipeline, write_transition, apply_transition, &change, err));
	if (change.halted_id)
		halts_settle_stated(pipeline, job, change.halted_id);
	return OK;
}
