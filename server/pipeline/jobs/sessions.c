#include "pipeline/jobs/sessions.h"

#include "base/clock.h"
#include "model/known.h"
#include "model/metrics/stream_name.h"
#include "pipeline/commit/resolve.h"
#include "pipeline/jobs/job_transition.h"
#include "pipeline/life/life.h"
#include "pipeline/life/life_sign.h"
#include "pipeline/life/log_end.h"
#include "state/jobs/history.h"
#include "state/streams/directory.h"
#include "state/execute.h"
#include "state/pipeline_state.h"
#include "store/jobs.h"
#include "store/streams.h"
#include "store/tracked_runs.h"
#include "store/transitions.h"

#include <stdio.h>

enum { MAX_NAMES = 1000 /* J-2 … J-1000 */ };

/* ---- the name of a run ---- */

struct choice {
	const struct run_asked *asked;
	char *name;
};

/* Within the limit on names; what is cut off is whole characters. */
static void form_name(const struct choice *choice, unsigned number)
{
	char suffix[16] = "";
	size_t len = choice->asked->job.len;

	if (number > 1)
		snprintf(suffix, sizeof suffix, "-%u", number);
	if (len > JOB_NAME_MAX_BYTES - strlen(suffix)) {
		len = JOB_NAME_MAX_BYTES - strlen(suffix);
		while (len && ((unsigned char)choice->asked->job.ptr[len] & 0xc0) == 0x80)
			len--;
	}
	snprintf(choice->name, JOB_NAME_MAX_BYTES + 1, "%.*s%s", (int)len, choice->asked->job.ptr, suffix);
}

static enum status is_usable(const struct choice *choice, struct store_tx *tx, bool *is, struct error *err)
{
	AUTO(arena) arena = arena_new();
	struct job_row row;

	if (!arena)
		return error_no_memory(err);
	enum status status = store_read_job(store_tx_reader(tx), arena, span_from(choice->name), &row, err);
	*is = status == ERR_NOT_FOUND;
	if (*is)
		return OK;
	TRY(status);
	TRY(check_team(row.team, row.name, choice->asked->team, err));
	*is = !row.ended_ms || choice->asked->resumes;
	return OK;
}

static enum status find_free(const struct choice *choice, struct store_tx *tx, struct error *err)
{
	for (unsigned number = 1; number <= MAX_NAMES; number++) {
		bool is;
		form_name(choice, number);
		TRY(is_usable(choice, tx, &is, err));
		if (is)
			return OK;
	}
	return error_set_field(err, ERR_CONFLICT, "job",
		"'%.*s' and its %d successors have all ended: give another name", SPAN_ARGS(choice->asked->job),
		MAX_NAMES - 1);
}

static enum status choose(void *context, struct store_tx *tx, struct error *err)
{
	const struct choice *choice = context;
	const struct run_asked *asked = choice->asked;
	AUTO(arena) arena = arena_new();
	struct span known = SPAN("");

	if (!arena)
		return error_no_memory(err);
	if (asked->run_key.len)
		TRY(store_read_run_name(store_tx_reader(tx), arena, asked->job, asked->run_key, &known, err));
	if (known.len) {
		snprintf(choice->name, JOB_NAME_MAX_BYTES + 1, "%.*s", SPAN_ARGS(known));
		return OK;
	}
	TRY(find_free(choice, tx, err));
	bool is_kept = asked->run_key.len && asked->is_all;
	return is_kept ? store_put_run_name(tx, asked->job, asked->run_key, span_from(choice->name), err) : OK;
}

enum status pipeline_choose_run(
	struct pipeline *pipeline, const struct run_asked *asked, char name[JOB_NAME_MAX_BYTES + 1], struct error *err)
{
	struct choice choice = {.asked = asked, .name = name};

	return writer_execute(pipeline, choose, &choice, err);
}

/* ---- the stream of a session ---- */

struct opening {
	struct session_stream *stream;
	struct life life;
};

static enum status find_or_make(const struct opening *opening, struct store_tx *tx, struct arena *arena,
	const struct job_row *job, struct stream_row *row, struct error *err)
{
	const struct session_stream *asked = opening->stream;
	struct stream_row *rows;
	size_t count;

	TRY(store_read_streams(store_tx_reader(tx), arena, job->job_id, asked->stream, &rows, &count, err));
	if (count) {
		*row = rows[0];
		return OK;
	}
	*row = (struct stream_row){.job_id = job->job_id,
		.name = asked->stream,
		.host = asked->host,
		.created_ms = asked->now_ms,
		.state = SPAN("")};
	return put_new_stream(opening->life.pipeline, tx, job->name, row, err);
}

/* What this transaction takes before us counts, too: the writer's own plan knows. */
static enum status find_offset(
	const struct opening *opening, struct store_tx *tx, const struct stream_row *row, struct error *err)
{
	struct session_stream *asked = opening->stream;
	struct source_row source = {.job_id = row->job_id, .stream_id = row->stream_id, .source = asked->source};
	size_t count;
	bool is_known;

	TRY(store_read_source(store_tx_reader(tx), &source, &is_known, &count, err));
	asked->next_offset = source.next_byte;
	if (asked->source.len || is_known)
		return OK; /* else all of the stream's bytes are counted (commit/sources.c) */
	struct job_state *job = directory_peek_id(opening->life.pipeline->directory, row->job_id);
	struct stream_state *state = job ? job_find_stream_id(job, row->stream_id) : NULL;
	asked->next_offset = state ? state->planned_byte : row->sealed_bytes;
	return OK;
}

/* Its log says when it ended, as long as nothing goes on: an end that nobody dated has that time from now on. */
static enum status date_end(const struct opening *opening, struct store_tx *tx, int64_t job_id,
	const struct transition_row *end, struct error *err)
{
	struct told_row *rows;
	size_t count = 0;

	if (end->source == SOURCE_DATED)
		TRY(store_read_told_facts(store_tx_reader(tx), opening->life.arena, job_id, &rows, &count, err));
	for (size_t i = 0; i < count; i++) {
		if (rows[i].source != SOURCE_STATED || !rows[i].is_undated || !span_equal(rows[i].status, end->status))
			continue;
		TRY(store_delete_told(tx, job_id, &rows[i], err));
		rows[i].start_ms = end->start_ms;
		rows[i].is_undated = false;
		TRY(store_put_told(tx, job_id, &rows[i], err));
	}
	return OK;
}

/* Told rows are read anew: the end that is shown may be older than the newest that was stated. */
static enum status find_stated_end(
	const struct opening *opening, struct store_tx *tx, int64_t job_id, int64_t *end_ms, struct error *err)
{
	struct told_row *rows;
	size_t count;

	TRY(store_read_told_facts(store_tx_reader(tx), opening->life.arena, job_id, &rows, &count, err));
	for (size_t i = 0; i < count; i++)
		if (rows[i].source == SOURCE_STATED && phase_is_final(rows[i].status) && rows[i].start_ms > *end_ms)
			*end_ms = rows[i].start_ms;
	return OK;
}

/*
 * What comes of the past may be behind the job's end: that is open until it is told again. Only where somebody stated that the job is
 * Completed: that it failed is known better by who says so, and an end that follows from exits or a log stays what it is. So does that of a
 * tracker's run: were it open, all that the tracker told would be read from the file's lines again.
 */
static enum status open_end(
	const struct opening *opening, struct store_tx *tx, const struct job_row *job, struct error *err)
{
	struct told_row resume = {.status = SPAN("Training"),
		.message = SPAN("more of it is imported"),
		.reason = SPAN(""),
		.source = SOURCE_SESSION,
		.is_undated = true};
	struct history known;
	bool is_tracked;

	TRY(store_is_tracked_run(store_tx_reader(tx), job->job_id, &is_tracked, err));
	if (is_tracked)
		return OK;
	TRY(life_read_known(opening->life.pipeline, store_tx_reader(tx), opening->life.arena, job, &known, err));
	const struct transition_row *end = known.count ? &known.rows[known.count - 1] : NULL;
	if (!opening->stream->resumes || !end || !span_equal(end->status, SPAN("Completed")) ||
		(end->source != SOURCE_STATED && end->source != SOURCE_DATED))
		return OK;
	TRY(date_end(opening, tx, job->job_id, end, err));
	resume.lifts_ms = end->start_ms;
	TRY(find_stated_end(opening, tx, job->job_id, &resume.lifts_ms, err));
	resume.start_ms = resume.lifts_ms + 1; /* of then: nobody is told of it as of news */
	return store_put_told(tx, job->job_id, &resume, err);
}

/*
 * A job that has ended goes on where the sender says so; else it is a process of the run that comes late. It goes on from when the sender would
 * have said so if it had not had to wait, but behind its end: what was at work when the job ended goes on with it from there.
 */
static enum status put_session(struct opening *opening, struct store_tx *tx, const struct job_row *job,
	const struct stream_row *row, struct error *err)
{
	const struct session_stream *asked = opening->stream;
	struct life_sign sign = {
		.first_ms = asked->now_ms, .believed_ms = INT64_MIN, .after_ms = INT64_MAX, .heard_ms = asked->now_ms};
	struct told_row resume = {.status = SPAN("Training"),
		.message = SPAN("a session goes on with it"),
		.reason = SPAN(""),
		.start_ms = asked->now_ms - asked->waited_ms,
		.source = SOURCE_SESSION};
	int64_t opened_ms = asked->now_ms;
	struct history known;

	if (stream_is_system(row->name))
		return OK;
	TRY(life_read_known(opening->life.pipeline, store_tx_reader(tx), opening->life.arena, job, &known, err));
	const struct transition_row *last = known.count ? &known.rows[known.count - 1] : NULL;
	if (asked->resumes && last && phase_is_final(last->status)) {
		resume.lifts_ms = last->start_ms;
		if (asked->waited_ms >= HISTORY_WAITED_MAX_MS)
			resume.message = SPAN(HISTORY_LONG_AWAY);
		if (resume.start_ms <= resume.lifts_ms)
			resume.start_ms = resume.lifts_ms + 1; /* or by a sender's clock */
		TRY(date_end(opening, tx, job->job_id, last, err));
		TRY(store_put_told(tx, job->job_id, &resume, err));
		opened_ms = opened_ms > resume.start_ms ? opened_ms : resume.start_ms;
	}
	if (last && !phase_is_final(last->status) && last->start_ms > opened_ms)
		opened_ms = last->start_ms; /* by a clock that was ahead: it is opened within that */
	TRY(store_put_session(tx, job->job_id, row->stream_id, opened_ms, err));
	return life_put_sign(opening->life.pipeline, tx, opening->life.arena, job, &sign, err);
}

/* In the transaction that takes the stream: what is refused keeps no name. */
static enum status keep_name(const struct opening *opening, struct store_tx *tx, struct error *err)
{
	const struct session_stream *asked = opening->stream;
	struct span known;

	if (!asked->run_key.len)
		return OK;
	TRY(store_read_run_name(store_tx_reader(tx), opening->life.arena, asked->asked, asked->run_key, &known, err));
	if (!known.len)
		return store_put_run_name(tx, asked->asked, asked->run_key, asked->job, err);
	if (span_equal(known, asked->job))
		return OK;
	error_set(err, ERR_BUSY, "this run of '%.*s' was just named '%.*s': ask again", SPAN_ARGS(asked->asked),
		SPAN_ARGS(known));
	if (err)
		err->retry_after_s = 1;
	return ERR_BUSY;
}

static enum status open_stream(void *context, struct store_tx *tx, struct error *err)
{
	struct opening *opening = context;
	struct session_stream *asked = opening->stream;
	struct arena *arena = opening->life.arena;
	struct stream_row row;
	struct job_row job;

	opening->life.failed = (struct job_failed_incident){0};
	TRY(store_read_job(store_tx_reader(tx), arena, asked->job, &job, err));
	TRY(check_team(job.team, job.name, asked->team, err));
	TRY(keep_name(opening, tx, err));
	TRY(find_or_make(opening, tx, arena, &job, &row, err));
	TRY(asked->take(asked->take_context, row.job_id, row.stream_id, err));
	if (asked->is_past) {
		TRY(open_end(opening, tx, &job, err));
	} else {
		TRY(store_delete_exit(tx, row.job_id, row.stream_id, err));
		TRY(put_session(opening, tx, &job, &row, err));
	}
	TRY(life_write(&opening->life, tx, &job, false, err));
	asked->job_id = row.job_id;
	asked->stream_id = row.stream_id;
	return find_offset(opening, tx, &row, err);
}

static void say_opened(void *context)
{
	const struct opening *opening = context;

	life_say(&opening->life);
}

enum status pipeline_open_stream(struct pipeline *pipeline, struct session_stream *stream, struct error *err)
{
	AUTO(arena) arena = arena_new();
	struct opening opening = {
		.stream = stream, .life = {.pipeline = pipeline, .arena = arena, .now_ms = stream->now_ms}};

	return arena ? writer_execute_then(pipeline, open_stream, say_opened, &opening, err) : error_no_memory(err);
}

/* A job may be deleted at any time: what is told of it then is nobody's. */
static enum status check_job(struct store_tx *tx, int64_t job_id, struct error *err)
{
	AUTO(arena) arena = arena_new();
	struct job_row job;

	return arena ? store_read_job_by_id(store_tx_reader(tx), arena, job_id, &job, err) : error_no_memory(err);
}

struct leaving {
	const struct session_exit *exit; /* NULL: there is none */
	int64_t job_id;
	uint32_t stream_id;
	struct life life;
};

/* As an end that nobody dated: of a log of the past, unless somebody said that the job went on since. */
static enum status date_exit(const struct leaving *leaving, struct store_tx *tx, const struct job_row *job,
	int64_t *at_ms, struct error *err)
{
	struct told_row *rows;
	struct log_end end;
	size_t count;

	*at_ms = leaving->exit->now_ms;
	TRY(log_end_of_stream(leaving->life.pipeline, store_tx_reader(tx), job->name, leaving->stream_id, &end, err));
	if (!end.last_ms || end.last_ms > *at_ms)
		return OK;
	TRY(store_read_told_facts(store_tx_reader(tx), leaving->life.arena, job->job_id, &rows, &count, err));
	if (leaving->exit->is_past || (log_end_is_past(&end) && !told_goes_on_after(rows, count, end.last_ms)))
		*at_ms = end.last_ms;
	return OK;
}

/* That a session of the past was opened said nothing of the job; how it ended does, and so it counts, in the run of then. */
static enum status put_exit(
	const struct leaving *leaving, struct store_tx *tx, const struct job_row *job, struct error *err)
{
	struct exit_row row = leaving->exit->row;

	if (!row.at_ms)
		TRY(date_exit(leaving, tx, job, &row.at_ms, err));
	if (leaving->exit->is_past) /* behind it, as what it has taken up again is (open_end) */
		TRY(store_put_session(tx, row.job_id, row.stream_id, row.at_ms + 1, err));
	return store_put_exit(tx, &row, err);
}

static enum status leave(void *context, struct store_tx *tx, struct error *err)
{
	struct leaving *leaving = context;
	struct job_row job;

	leaving->life.failed = (struct job_failed_incident){0};
	TRY(store_read_job_by_id(store_tx_reader(tx), leaving->life.arena, leaving->job_id, &job, err));
	if (leaving->exit)
		TRY(put_exit(leaving, tx, &job, err));
	else
		TRY(store_delete_session(tx, leaving->job_id, leaving->stream_id, err));
	return life_write(&leaving->life, tx, &job, false, err);
}

static void say_left(void *context)
{
	const struct leaving *leaving = context;

	life_say(&leaving->life);
}

static enum status leave_stream(struct pipeline *pipeline, int64_t job_id, uint32_t stream_id,
	const struct session_exit *exit, struct error *err)
{
	AUTO(arena) arena = arena_new();
	struct leaving leaving = {.exit = exit,
		.job_id = job_id,
		.stream_id = stream_id,
		.life = {.pipeline = pipeline, .arena = arena, .now_ms = clock_wall_ms()}};

	return arena ? writer_execute_then(pipeline, leave, say_left, &leaving, err) : error_no_memory(err);
}

/* Of an exit in the past the log says when the job began: until that is read it began now, and would have ended no earlier. */
enum status pipeline_put_exit(struct pipeline *pipeline, const struct session_exit *exit, struct error *err)
{
	if (exit->row.at_ms < clock_wall_ms() - HISTORIC_MS) /* 0: where the log ends */
		TRY(log_end_await(pipeline, exit->job, err));
	return leave_stream(pipeline, exit->row.job_id, exit->row.stream_id, exit, err);
}

enum status pipeline_leave_stream(struct pipeline *pipeline, int64_t job_id, uint32_t stream_id, struct error *err)
{
	return leave_stream(pipeline, job_id, stream_id, NULL, err);
}

/* ---- commands ---- */

struct ordering {
	struct span job, team;
	size_t most;
	struct command_row *row;
};

static enum status check_room(
	const struct ordering *ordering, struct store_tx *tx, struct arena *arena, struct error *err)
{
	struct command_row *rows;
	size_t count;

	TRY(store_read_commands(store_tx_reader(tx), arena, ordering->row->job_id, &rows, &count, err));
	if (count >= ordering->most)
		return error_set_field(err, ERR_TOO_LARGE, "command",
			"job '%.*s' was given %zu commands already (--max-commands)", SPAN_ARGS(ordering->job), count);
	return OK;
}

static enum status add_command(void *context, struct store_tx *tx, struct error *err)
{
	const struct ordering *ordering = context;
	AUTO(arena) arena = arena_new();
	struct stream_row *streams;
	struct job_row job;
	size_t count = 1;

	if (!arena)
		return error_no_memory(err);
	TRY(store_read_job(store_tx_reader(tx), arena, ordering->job, &job, err));
	TRY(check_team(job.team, job.name, ordering->team, err));
	if (job.ended_ms)
		return error_set_field(err, ERR_CONFLICT, "command", "job '%.*s' is %.*s: there is nobody to be told",
			SPAN_ARGS(job.name), SPAN_ARGS(job.status));
	ordering->row->job_id = job.job_id;
	if (ordering->row->stream.len)
		TRY(store_read_streams(
			store_tx_reader(tx), arena, job.job_id, ordering->row->stream, &streams, &count, err));
	if (!count)
		return error_set_field(err, ERR_NOT_FOUND, "stream", "job '%.*s' has no stream '%.*s'",
			SPAN_ARGS(job.name), SPAN_ARGS(ordering->row->stream));
	TRY(check_room(ordering, tx, arena, err));
	return store_add_command(tx, ordering->row, err);
}

enum status pipeline_add_command(struct pipeline *pipeline, struct span job, struct span team, size_t most,
	struct command_row *row, struct error *err)
{
	struct ordering ordering = {.job = job, .team = team, .most = most, .row = row};

	return writer_execute(pipeline, add_command, &ordering, err);
}

enum status pipeline_stop_job(struct pipeline *pipeline, struct span job, struct span team, size_t most,
	struct command_row *row, struct error *err)
{
	AUTO(json) unless = NULL;
	struct ordering ordering = {.job = job, .team = team, .most = most, .row = row};
	struct job_transition transition = {.secondary = SPAN("Stopping"),
		.message = SPAN("a stop was asked for"),
		.failure_reason = SPAN(""),
		.time_ms = row->created_ms,
		.first = add_command,
		.context = &ordering};

	TRY(json_parse(&unless, SPAN("[\"Completed\",\"Failed\",\"Stopped\"]"), err));
	transition.unless = unless;
	return pipeline_add_transition(pipeline, job, team, &transition, NULL, err);
}

/* Else the command would count as acknowledged when it is given. */
static enum status check_command(struct store_tx *tx, const struct command_ack_row *row, struct error *err)
{
	bool has_one;

	TRY(store_has_command(store_tx_reader(tx), row->job_id, row->command_id, &has_one, err));
	return has_one ? OK
		       : error_set_field(err, ERR_SEMANTIC, "acks", "the job was given no command %lld",
				 (long long)row->command_id);
}

static enum status acknowledge(void *context, struct store_tx *tx, struct error *err)
{
	const struct command_ack_row *row = context;

	TRY(check_job(tx, row->job_id, err));
	TRY(check_command(tx, row, err));
	return store_put_command_ack(tx, row, err);
}

enum status pipeline_acknowledge_command(
	struct pipeline *pipeline, const struct command_ack_row *row, struct error *err)
{
	struct command_ack_row copy = *row;

	return writer_execute(pipeline, acknowledge, &copy, err);
}
