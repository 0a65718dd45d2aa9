#include "pipeline/jobs/life_run.h"

#include "base/clock.h"
#include "base/log.h"
#include "pipeline/life/life.h"
#include "state/control.h"
#include "state/streams/directory.h"
#include "state/execute.h"
#include "state/options.h"
#include "state/pipeline_state.h"
#include "store/job_facts.h"
#include "store/jobs.h"
#include "store/carry.h"
#include "store/transitions.h"

enum { LOOK_MAX = 256 }; /* in one round */
enum { NAMED_AT_ONCE_STREAMS = 64 };

enum ending_kind {
	ENDING_STOP, /* it was asked to stop, and is heard no more */
	ENDING_ANEW, /* its history is made anew, as after an upgrade */
	ENDING_NAMED, /* a fault was told of it behind its failure */
};

struct ending {
	struct life life;
	int64_t job_id;
	int64_t alive_ms;
	enum ending_kind kind;
};

/* It was alive when it said its last, by its own times: what was delivered late is no later life. And when it was asked. */
static enum status put_stop(struct ending *ending, struct store_tx *tx, const struct job_row *row, struct error *err)
{
	struct history known;

	TRY(life_read_known(ending->life.pipeline, store_tx_reader(tx), ending->life.arena, row, &known, err));
	int64_t asked_ms = known.count ? known.rows[known.count - 1].start_ms : row->created_ms;
	return store_put_told(tx, row->job_id,
		&(struct told_row){.status = SPAN("Stopped"),
			.message = SPAN("a stop was asked for, and nothing was heard since"),
			.reason = SPAN(""),
			.start_ms = asked_ms > ending->alive_ms ? asked_ms : ending->alive_ms,
			.source = SOURCE_ASSUMED,
			.is_undated = true},
		err);
}

static enum status write_ending(void *context, struct store_tx *tx, struct error *err)
{
	struct ending *ending = context;
	struct job_row row;

	ending->life.failed = (struct job_failed_incident){0};
	if (ending->kind == ENDING_ANEW)
		TRY(store_settle_told_anew(tx, ending->job_id, err));
	enum status status = store_read_job_by_id(store_tx_reader(tx), ending->life.arena, ending->job_id, &row, err);
	if (status == ERR_NOT_FOUND)
		return OK;
	TRY(status);
	if (ending->kind == ENDING_STOP && !span_equal(row.status, SPAN("Stopping")))
		return OK; /* it was heard meanwhile */
	if (ending->kind == ENDING_NAMED && !span_equal(row.status, SPAN("Failed")))
		return OK;
	if (ending->kind == ENDING_STOP)
		TRY(put_stop(ending, tx, &row, err));
	return life_write(&ending->life, tx, &row, ending->kind == ENDING_NAMED, err);
}

static void say_ended(void *context)
{
	const struct ending *ending = context;

	life_say(&ending->life);
}

static enum status end(struct pipeline *pipeline, struct arena *arena, int64_t job_id, int64_t alive_ms,
	enum ending_kind kind, struct error *err)
{
	struct ending ending = {.life = {.pipeline = pipeline, .arena = arena, .now_ms = clock_wall_ms()},
		.job_id = job_id,
		.alive_ms = alive_ms,
		.kind = kind};

	return writer_execute_then(pipeline, write_ending, say_ended, &ending, err);
}

/* ---- who was asked to stop ---- */

struct last_heard {
	int64_t came_ms; /* its newest line, of any stream */
	int64_t alive_ms; /* by the times that its lines and points have; what is counted later takes the stop back */
};

static enum status find_heard(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	const struct job_row *row, struct last_heard *out, struct error *err)
{
	struct job_counts counts;
	struct summary_row *rows;
	size_t count;

	TRY(store_read_summaries(reader, arena, row->job_id, &counts, &rows, &count, err));
	*out = (struct last_heard){.came_ms = counts.last_heard_ms};
	out->alive_ms = counts.work_to_ms < counts.last_heard_ms ? counts.work_to_ms : counts.last_heard_ms;
	struct job_state *job = directory_find(pipeline->directory, row->name);
	if (job && atomic_load(&job->touched_ms) > out->came_ms)
		out->came_ms = atomic_load(&job->touched_ms);
	job_unref(job);
	return OK;
}

static enum status look_at(struct pipeline *pipeline, struct store_reader *reader, int64_t job_id, struct error *err)
{
	AUTO(arena) arena = arena_new();
	const struct pipeline_options *options = &pipeline->options;
	int64_t now_ms = clock_wall_ms(), since_ms = pipeline->started_ms;
	struct last_heard heard;
	struct job_row row;

	if (!arena)
		return error_no_memory(err);
	TRY(store_read_job_by_id(reader, arena, job_id, &row, err));
	TRY(find_heard(pipeline, reader, arena, &row, &heard, err));
	since_ms = row.modified_ms > since_ms ? row.modified_ms : since_ms;
	since_ms = heard.came_ms > since_ms ? heard.came_ms : since_ms;
	int64_t lease_ms = options->lease_end_ms ? options->lease_end_ms(options->context, job_id) : 0;
	since_ms = lease_ms > since_ms ? lease_ms : since_ms;
	if (now_ms - since_ms < options->stop_after_ms)
		return OK;
	return end(pipeline, arena, job_id, heard.alive_ms, ENDING_STOP, err);
}

/* ---- ends that nobody dated ---- */

enum status life_date_ends(struct pipeline *pipeline, struct store_reader *reader, int64_t job_id, struct error *err)
{
	AUTO(arena) arena = NULL;
	bool has_any;

	TRY(store_has_undated(reader, job_id, &has_any, err));
	if (!has_any)
		return OK;
	if (!(arena = arena_new()))
		return error_no_memory(err);
	return end(pipeline, arena, job_id, 0, ENDING_ANEW, err);
}

/* ---- what an upgrade left, or was told behind the end ---- */

static enum status renew(struct pipeline *pipeline, int64_t job_id, enum ending_kind kind, struct error *err)
{
	AUTO(arena) arena = arena_new();

	return arena ? end(pipeline, arena, job_id, 0, kind, err) : error_no_memory(err);
}

static void name_end_soon(struct pipeline *pipeline, struct job_state *job)
{
	atomic_store(&job->is_end_due, true); /* first: who takes the other's mark sees this one */
	atomic_store(&pipeline->ends_due, true);
}

enum status life_put_off_name(
	struct pipeline *pipeline, struct store_reader *reader, int64_t job_id, bool *is_later, struct error *err)
{
	AUTO(arena) arena = arena_new();
	struct job_state *job = directory_peek_id(pipeline->directory, job_id);
	struct stream_row beyond = {0};

	*is_later = false;
	if (!arena)
		return error_no_memory(err);
	TRY(store_read_stream_after(reader, arena, job_id, NAMED_AT_ONCE_STREAMS, &beyond, err));
	*is_later = beyond.stream_id && job;
	if (*is_later)
		name_end_soon(pipeline, job);
	return OK;
}

/* What fails for good is let go: the end keeps the reason that it has, and the job's lines are sealed. */
static void name_end(struct pipeline *pipeline, struct job_state *job)
{
	struct error err;
	enum status status = renew(pipeline, job->job_id, ENDING_NAMED, &err);

	if (status == OK)
		return;
	if (control_may_pass(status))
		name_end_soon(pipeline, job);
	log_line(LOG_WARNING, "life_failed", "job=\"%s\" error=\"%s\"", job->name, err.text);
}

void life_name_ends(struct pipeline *pipeline)
{
	AUTO_MEM struct job_state **jobs = NULL;
	struct error err;
	size_t count = 0;

	if (!atomic_exchange(&pipeline->ends_due, false))
		return;
	if (directory_list(pipeline->directory, &jobs, &count, &err) != OK)
		atomic_store(&pipeline->ends_due, true); /* out of memory: the next round tries again */
	for (size_t i = 0; i < count; i++) {
		if (atomic_exchange(&jobs[i]->is_end_due, false))
			name_end(pipeline, jobs[i]);
		job_unref(jobs[i]);
	}
}

void life_run(struct pipeline *pipeline, struct store_reader *reader)
{
	AUTO(arena) arena = arena_new();
	size_t stopping_count = 0, anew_count = 0;
	int64_t *stopping, *anew;
	struct error err;

	if (!arena || store_read_stopping(reader, arena, LOOK_MAX, &stopping, &stopping_count, &err) != OK ||
		store_read_told_anew(reader, arena, LOOK_MAX, &anew, &anew_count, &err) != OK)
		return; /* the next round tries again */
	if (life_is_within_lease(pipeline))
		anew_count = 0;
	for (size_t i = 0; i < stopping_count + anew_count; i++) {
		bool is_stop = i < stopping_count;
		int64_t job_id = is_stop ? stopping[i] : anew[i - stopping_count];
		enum status status =
			is_stop ? look_at(pipeline, reader, job_id, &err) : renew(pipeline, job_id, ENDING_ANEW, &err);
		if (status != OK && status != ERR_UNAVAILABLE && status != ERR_NOT_FOUND)
			log_line(LOG_WARNING, "life_failed", "error=\"%s\"", err.text);
	}
}
