/* The writer's side of an import. A transaction that fails may run again: what it decides counts once it is durable. */
#include "pipeline/carry/carry_batch.h"

#include "base/clock.h"
#include "base/log.h"
#include "model/incident.h"
#include "pipeline/commit/resolve.h"
#include "pipeline/jobs/hosts_by_hand.h"
#include "pipeline/life/pools.h"
#include "state/control.h"
#include "state/streams/directory.h"
#include "state/jobs/history.h"
#include "state/pipeline_state.h"
#include "store/blocks.h"
#include "store/definitions.h"
#include "store/goodput.h"
#include "store/job_facts.h"
#include "store/jobs.h"
#include "store/points.h"
#include "store/retention.h"
#include "store/sessions.h"
#include "store/streams.h"
#include "store/told.h"
#include "store/transitions.h"

void carried_free(struct carried *job)
{
	if (!job)
		return;
	arena_free(job->arena);
	map_free(job->streams);
	mem_free(job);
}

struct carry_batch *carry_batch_new(struct pipeline *pipeline)
{
	AUTO(carry_batch) batch = mem_zeroed(sizeof *batch);

	if (!batch)
		return NULL;
	batch->pipeline = pipeline;
	batch->arena = arena_new();
	if (!batch->arena)
		return NULL;
	return TAKE(batch);
}

void carry_batch_free(struct carry_batch *batch)
{
	if (!batch)
		return;
	for (struct carry_op *op = batch->first; op; op = op->next)
		if (op->kind == OP_END)
			carried_free(op->job);
	arena_free(batch->arena);
	mem_free(batch);
}

struct carry_op *carry_batch_add(struct carry_batch *batch, enum carry_op_kind kind, struct carried *job)
{
	struct carry_op *op = arena_alloc(batch->arena, sizeof *op);

	if (!op)
		return NULL;
	*op = (struct carry_op){.kind = kind, .job = job};
	if (batch->last)
		batch->last->next = op;
	else
		batch->first = op;
	batch->last = op;
	batch->jobs += kind == OP_END;
	return op;
}

void carry_batch_remove(struct carry_batch *batch, const struct carried *job)
{
	struct carry_op **at = &batch->first;

	batch->last = NULL;
	while (*at) {
		if ((*at)->job == job) {
			*at = (*at)->next;
			continue;
		}
		batch->last = *at;
		at = &(*at)->next;
	}
}

/* ---- in a transaction ---- */

static enum status begin_job(struct store_tx *tx, struct carried *job, struct error *err)
{
	enum status status = store_begin_import(tx, job->job.row.name, clock_wall_ms(), &job->job_id, err);

	job->is_skipped = status == ERR_CONFLICT;
	job->is_left_out = false;
	return job->is_skipped ? OK : status;
}

static enum status write_stream(struct store_tx *tx, struct carry_op *op, struct error *err)
{
	struct stream_row row = op->stream.row; /* it may be written again: its number is given anew */
	int64_t job_id = op->job->job_id;

	row.job_id = job_id;
	row.stream_id = 0;
	TRY(store_put_stream(tx, &row, err));
	if (op->stream.expired.first_kept_line) {
		op->stream.expired.stream_id = row.stream_id;
		TRY(store_import_expired(tx, job_id, &op->stream.expired, err));
	}
	for (size_t i = 0; i < op->stream.host_count; i++) {
		op->stream.hosts[i].job_id = job_id;
		op->stream.hosts[i].stream_id = row.stream_id;
		TRY(store_put_stream_host(tx, &op->stream.hosts[i], err));
	}
	for (size_t i = 0; i < op->stream.source_count; i++) {
		op->stream.sources[i].job_id = job_id;
		op->stream.sources[i].stream_id = row.stream_id;
		TRY(store_put_source(tx, &op->stream.sources[i], err));
	}
	for (size_t i = 0; i < op->stream.hit_count; i++) {
		op->stream.hits[i].job_id = job_id;
		op->stream.hits[i].stream_id = row.stream_id;
		TRY(store_put_signature_hit(tx, &op->stream.hits[i], err));
	}
	for (size_t i = 0; i < op->stream.checkpoint_count; i++) {
		op->stream.checkpoints[i].job_id = job_id;
		op->stream.checkpoints[i].stream_id = row.stream_id;
		TRY(store_put_checkpoint(tx, &op->stream.checkpoints[i], err));
	}
	op->stream.exit.job_id = job_id;
	op->stream.exit.stream_id = row.stream_id;
	if (op->stream.has_session || op->stream.has_exit) /* whose exit is known had a session */
		TRY(store_put_session(tx, job_id, row.stream_id, op->stream.session_ms, err));
	if (!op->stream.has_exit)
		return OK;
	return store_put_exit(tx, &op->stream.exit, err);
}

/* Of an older record: what is shown there is what was told here. */
static enum status tell_shown(struct store_tx *tx, int64_t job_id, const struct carry_job *from, struct error *err)
{
	for (size_t i = 0; i < from->transition_count; i++) {
		const struct transition_row *row = &from->transitions[i];
		bool is_last = i + 1 == from->transition_count;
		struct told_row told = {.status = row->status,
			.message = row->message,
			.reason = is_last ? from->row.failure_reason : SPAN(""),
			.start_ms = row->start_ms,
			.source = transition_is_assumed(row)    ? SOURCE_ASSUMED
				  : row->source >= SOURCE_DATED ? SOURCE_STATED
								: row->source,
			.is_undated = row->source == SOURCE_DATED};
		told.is_undated |= told_is_imported_end(&told);
		if (row->source == SOURCE_SESSION)
			told.lifts_ms = row->start_ms;
		TRY(store_put_told(tx, job_id, &told, err));
	}
	return OK;
}

static enum status write_history(struct store_tx *tx, int64_t job_id, const struct carry_job *from, struct error *err)
{
	if (!from->has_told)
		TRY(tell_shown(tx, job_id, from, err));
	for (size_t i = 0; i < from->told_count; i++)
		TRY(store_put_told(tx, job_id, &from->told[i], err));
	return store_put_transitions(tx, job_id, from->transitions, from->transition_count, err);
}

/* What events said outright; of an older record where it shows. */
static enum status write_events(struct store_tx *tx, int64_t job_id, const struct carry_job *from, struct error *err)
{
	const struct event_times shown = {true, from->row.started_ms, from->row.ended_ms};
	const struct event_times *times = from->has_told ? &from->event_times : &shown;

	if (from->newest_event_ms)
		TRY(store_put_newest_event(tx, job_id, from->newest_event_ms, err));
	if (from->has_told ? !times->is_told : !from->newest_event_ms)
		return OK;
	return store_put_event_times(tx, job_id, times, err);
}

static enum status write_parts(struct store_tx *tx, struct carried *job, struct error *err)
{
	const struct carry_job *from = &job->job;
	bool is_new;

	TRY(write_history(tx, job->job_id, from, err));
	TRY(store_add_settings(tx, job->job_id, from->settings, from->setting_count, err));
	for (size_t i = 0; i < from->message_count; i++) /* each: the same words again are there where they came late */
		TRY(store_keep_status_message(tx, job->job_id, &from->messages[i], &is_new, err));
	if (from->definitions.len)
		TRY(store_put_definitions(tx, job->job_id, from->row.generation, from->definitions, err));
	if (from->retention.is_pinned || from->retention.max_age_ms || from->retention.max_bytes)
		TRY(store_put_job_retention(tx, job->job_id, &from->retention, err));
	return write_events(tx, job->job_id, from, err);
}

/* Its summaries and ranks are made in RAM, as of a job that was written to. */
static enum status check_room(struct pipeline *pipeline, struct error *err)
{
	if (directory_count(pipeline->directory) < pipeline->options.max_jobs)
		return OK;
	error_set(err, ERR_BUSY, "%zu jobs are being written already (--max-jobs); what was imported so far stays",
		pipeline->options.max_jobs);
	if (err)
		err->retry_after_s = 5;
	return ERR_BUSY;
}

/* Nobody has the job in RAM yet. */
static enum status set_hosts(struct store_tx *tx, const struct job_row *row, struct error *err)
{
	AUTO(arena) arena = arena_new();
	struct hosts_set unused;

	return arena ? hosts_by_hand_write(tx, arena, row, &unused, err) : error_no_memory(err);
}

/* *is_taken: somebody has made a job of the name meanwhile. */
static enum status end_import(struct store_tx *tx, const struct job_row *row, bool *is_taken, struct error *err)
{
	TRY(store_tx_savepoint(tx, err));
	enum status status = store_end_import(tx, row, err);
	if (status == OK)
		status = store_tx_release(tx, err);
	else
		store_tx_undo(tx);
	*is_taken = status == ERR_CONFLICT;
	return *is_taken ? store_drop_import(tx, row->job_id, err) : status;
}

static enum status end_job(struct pipeline *pipeline, struct store_tx *tx, struct carried *job, struct error *err)
{
	const struct history history = {.rows = job->job.transitions, .count = job->job.transition_count};
	struct job_row row = job->job.row;

	TRY(check_room(pipeline, err));
	row.job_id = job->job_id;
	row.created_ms = history_created_ms(&history, &row);
	TRY(end_import(tx, &row, &job->is_skipped, err));
	if (job->is_skipped)
		return OK;
	TRY(pools_put_job(tx, &row, err));
	/* Who was silent there has not spoken here. */
	TRY(store_put_silent_before(tx, row.job_id, clock_wall_ms() - pipeline->options.silent_ms, err));
	TRY(set_hosts(tx, &row, err));
	return write_parts(tx, job, err);
}

static enum status write_attachment(struct store_tx *tx, struct carried *job, struct carry_op *op, struct error *err)
{
	struct attachment_row row = op->attachment; /* it may be written again: its number is given anew */

	row.job_id = job->job_id;
	TRY(store_import_attachment(tx, &row, err));
	job->attachment_id = row.attachment_id;
	return OK;
}

static enum status write_part(
	struct store_tx *tx, const struct carried *job, const struct carry_op *op, struct error *err)
{
	const struct attachment_row row = {
		.job_id = job->job_id, .attachment_id = job->attachment_id, .path = op->part.path};

	TRY(store_put_attachment_part(tx, &row, op->part.number, op->part.packed, err));
	return op->part.is_last ? store_end_attachment(tx, &row, err) : OK;
}

static enum status write_op(struct pipeline *pipeline, struct store_tx *tx, struct carry_op *op, struct error *err)
{
	int64_t job_id = op->job->job_id;

	switch (op->kind) {
	case OP_BEGIN:
		return begin_job(tx, op->job, err);
	case OP_STREAM:
		return write_stream(tx, op, err);
	case OP_BLOCK:
		op->block.job_id = job_id;
		return store_put_block(tx, &op->block, err);
	case OP_CHUNK:
		op->chunk.job_id = job_id;
		return store_put_chunk(tx, &op->chunk, err);
	case OP_SERIES:
		op->series.job_id = job_id;
		return store_put_series(tx, &op->series, err);
	case OP_INCIDENT:
		op->incident.job_id = job_id;
		return store_import_incident(tx, &op->incident, err);
	case OP_NOTE:
		op->note.job_id = job_id;
		return store_import_note(tx, &op->note, err);
	case OP_EVALUATION:
		return store_put_evaluation(tx, job_id, &op->evaluation, err);
	case OP_TRACE:
		return store_put_gpu_trace(tx, job_id, &op->trace, err);
	case OP_ATTACHMENT:
		return write_attachment(tx, op->job, op, err);
	case OP_PART:
		return write_part(tx, op->job, op, err);
	case OP_LEAVE_OUT:
		op->job->is_skipped = op->job->is_left_out = true;
		return store_drop_import(tx, job_id, err);
	case OP_END:
		break;
	}
	return end_job(pipeline, tx, op->job, err);
}

/* What a stream of records cannot see, the tables do: the jobs beside it are as good as before. */
static enum status refuse(struct carry_batch *batch, struct store_tx *tx, struct carry_op *op, struct error *err)
{
	error_set(&batch->refusal, ERR_CONFLICT, "job '%.*s' was not imported: it has %s twice",
		SPAN_ARGS(op->job->job.row.name), op->kind == OP_INCIDENT ? "an incident" : "something");
	op->job->is_skipped = true;
	return store_drop_import(tx, op->job->job_id, err);
}

/* One conflict is that of its job alone: what was written before it in the transaction stays. */
static enum status try_op(struct carry_batch *batch, struct store_tx *tx, struct carry_op *op, struct error *err)
{
	TRY(store_tx_savepoint(tx, err));
	enum status status = write_op(batch->pipeline, tx, op, err);
	if (status == OK)
		status = store_tx_release(tx, err); /* some databases say only here what went wrong */
	else
		store_tx_undo(tx);
	return status == ERR_CONFLICT ? refuse(batch, tx, op, err) : status;
}

static enum status write_batch(void *context, struct store_tx *tx, struct error *err)
{
	struct carry_batch *batch = context;

	for (struct carry_op *op = batch->first; op; op = op->next) {
		op->job->job_id = op->job->durable_id;
		op->job->attachment_id = op->job->durable_attachment_id;
		op->job->is_skipped = op->job->is_durably_skipped;
	}
	batch->refusal = (struct error){.status = OK};
	for (struct carry_op *op = batch->first; op; op = op->next)
		if (!op->job->is_skipped)
			TRY(try_op(batch, tx, op, err));
	return OK;
}

/* ---- after the commit ---- */

/* Summaries, ranks and progress are made of what came, and RAM then forgets it. */
static void load_job(struct pipeline *pipeline, struct store_reader *reader, const struct carried *job)
{
	struct job_state *state;
	struct error err;

	if (resolve_whole_job(pipeline, reader, job->job_id, &state, &err) != OK) {
		log_line(LOG_WARNING, "import_summary_failed", "job=\"%.*s\" error=\"%s\"",
			SPAN_ARGS(job->job.row.name), err.text);
		return;
	}
	if (!state)
		return;
	atomic_store(&state->is_summary_dirty, true);
	atomic_store(&state->is_row_dirty, true);
	atomic_store(&state->touched_ms, 0);
	job_unref(state);
}

static void load_jobs(struct carry_batch *batch)
{
	AUTO(store_reader) reader = NULL;
	struct error err;

	if (!batch->jobs)
		return;
	if (store_reader_new(&reader, batch->pipeline->options.store, &err) != OK) {
		log_line(LOG_WARNING, "import_summary_failed", "error=\"%s\"", err.text);
		return;
	}
	for (struct carry_op *op = batch->first; op; op = op->next)
		if (op->kind == OP_END && !op->job->is_skipped)
			load_job(batch->pipeline, reader, op->job);
}

static void batch_done(void *context, enum status status, const struct error *err)
{
	struct carry_batch *batch = context;

	for (struct carry_op *op = batch->first; op && status == OK; op = op->next) {
		op->job->durable_id = op->job->job_id;
		op->job->durable_attachment_id = op->job->attachment_id;
		op->job->is_durably_skipped = op->job->is_skipped;
	}
	if (status == OK)
		load_jobs(batch);
	if (status == OK && batch->refusal.status != OK) {
		status = batch->refusal.status;
		err = &batch->refusal;
	}
	if (batch->done)
		batch->done(batch->context, batch, status, err);
	else
		carry_batch_free(batch);
}

enum status carry_batch_push(struct carry_batch *batch,
	void (*done)(void *context, struct carry_batch *batch, enum status status, const struct error *err),
	void *context, struct error *err)
{
	batch->done = done;
	batch->context = context;
	batch->control = (struct control){.work = write_batch, .done = batch_done, .context = batch};
	return control_push(batch->pipeline, &batch->control, err);
}

/* ---- what came to nothing ---- */

struct dropping {
	struct control control;
	int64_t job_id;
};

static enum status write_drop(void *context, struct store_tx *tx, struct error *err)
{
	return store_drop_import(tx, ((struct dropping *)context)->job_id, err);
}

static void drop_done(void *context, enum status status, const struct error *err)
{
	if (status != OK)
		log_line(LOG_WARNING, "import_drop_failed", "error=\"%s\"", err->text); /* the next start does it */
	mem_free(context);
}

void carried_drop(struct pipeline *pipeline, const struct carried *job)
{
	struct dropping *dropping;
	struct error err;

	if (!job->durable_id || job->is_durably_skipped || !(dropping = mem_zeroed(sizeof *dropping)))
		return;
	*dropping = (struct dropping){.job_id = job->durable_id};
	dropping->control = (struct control){.work = write_drop, .done = drop_done, .context = dropping};
	if (control_push(pipeline, &dropping->control, &err) != OK)
		mem_free(dropping); /* stopping: the next start does it */
}
