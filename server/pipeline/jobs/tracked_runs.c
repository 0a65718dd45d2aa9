#include "pipeline/jobs/tracked_runs.h"

#include "base/json/json_write.h"
#include "base/log.h"
#include "pipeline/commit/resolve.h"
#include "pipeline/goodput/goodput.h"
#include "pipeline/jobs/free_name.h"
#include "pipeline/jobs/job_transition.h"
#include "pipeline/jobs/sessions.h"
#include "pipeline/jobs/tracked_adopt.h"
#include "pipeline/jobs/tracked_gap.h"
#include "pipeline/jobs/went_on.h"
#include "pipeline/life/run_gap.h"
#include "pipeline/life/life.h"
#include "pipeline/life/log_end.h"
#include "pipeline/life/pools.h"
#include "state/execute.h"
#include "state/jobs/default_definitions.h"
#include "state/jobs/history.h"
#include "state/pipeline_state.h"
#include "state/streams/directory.h"
#include "store/jobs.h"
#include "store/told.h"
#include "store/goodput.h"

enum {
	DOCUMENT_MAX_BYTES = 4 << 20,
	INPUTS_MAX_BYTES = 1 << 20,
};

/* PROJECT/RUN, or the first of PROJECT/RUN-2, PROJECT/RUN-3 … that nobody has. The arena's. */
static enum status name_run(
	struct store_tx *tx, struct arena *arena, const struct run_making *asked, struct span *out, struct error *err)
{
	AUTO_DONE(buf) name = BUF_INIT(4096);

	buf_append_span(&name, span_cut(asked->project, JOB_NAME_MAX_BYTES / 2));
	buf_append_char(&name, '/');
	buf_append_span(&name, span_cut(asked->row.name, FREE_NAME_STEM_BYTES - name.len));
	for (size_t i = 0; i < name.len; i++)
		if ((unsigned char)name.ptr[i] < ' ' || name.ptr[i] == 0x7f)
			name.ptr[i] = '_';
	TRY(buf_status(&name, err));
	return free_name_find(tx, arena, buf_span(&name), out, err);
}

/* ---- making ---- */

struct making {
	struct pipeline *pipeline;
	struct arena *arena; /* of what is said after the commit */
	struct run_making *asked;
	struct life life;
	struct tracked_run_row before; /* the run whose log it shares; job_id 0: none */
	struct buf document; /* of a job that was there already */
	int64_t adopted_id; /* 0: it was not */
	bool is_within; /* the time of the job of the log, which is billed for it */
};

#define TRACKED_BILLED "BillableTimeInSeconds"
#define MADE_FOR_A_RUN SPAN("made for a run")

static struct told_row begun_at(int64_t start_ms)
{
	return (struct told_row){.status = SPAN("Training"),
		.message = SPAN(GOODPUT_RUN_BEGAN),
		.reason = SPAN(""),
		.start_ms = start_ms,
		.source = SOURCE_STATED};
}

static enum status write_document(const struct making *making, struct span name, struct buf *out, struct error *err)
{
	const struct run_making *asked = making->asked;
	AUTO_DONE(buf) bare = BUF_INIT(8192);
	struct tracked_pairs tags = {0};
	struct json_writer w = json_writer_on(&bare);

	for (size_t i = 0; i < asked->tags->count; i++)
		if (!tracked_pairs_add(making->arena, &tags, asked->tags->items[i].key, asked->tags->items[i].value))
			return error_no_memory(err);
	if (making->is_within && !tracked_pairs_add(making->arena, &tags, TRACKED_WITHIN_TAG, asked->job))
		return error_no_memory(err);

	json_object(&w);
	json_put_span(&w, "TrainingJobName", name);
	json_put_span(&w, "TrackedRunId",
		asked->row.run_id); /* by which searches find it, and the addresses that clients print */
	json_put_i64(&w, "TrackedProjectId", asked->row.project_id);
	json_put_span(&w, "TrackedProject", asked->project);
	if (making->is_within)
		json_put_i64(&w, TRACKED_BILLED, 0);
	json_object_end(&w);
	TRY(buf_status(&bare, err));
	return tracked_document_write(buf_span(&bare), asked->settings, &tags, out, err);
}

/* It is there since it was begun, and trains: that is said, so that what is logged later does not say it anew. */
static enum status write_job(struct making *making, struct store_tx *tx, struct job_row *row, struct error *err)
{
	const struct run_making *asked = making->asked;
	const struct told_row begun = begun_at(asked->row.start_ms);
	AUTO_DONE(buf) document = BUF_INIT(DOCUMENT_MAX_BYTES);

	TRY(write_document(making, row->name, &document, err));
	row->document = buf_span(&document);
	TRY(pools_put_job(tx, row, err));
	TRY(definitions_put_default(tx, row->job_id, row->generation, err));
	TRY(life_begin(tx, row, MADE_FOR_A_RUN, err));
	TRY(store_put_told(tx, row->job_id, &begun, err));
	TRY(store_put_status_message(
		tx, row->job_id, &(struct status_message){begun.start_ms, begun.status, begun.message}, err));
	enum status status = life_write(&making->life, tx, row, true, err);
	row->document = SPAN("");
	return status;
}

static enum status adopt(struct making *making, struct store_tx *tx, struct adopted *out, struct error *err)
{
	const struct run_making *asked = making->asked;
	const struct adoption adoption = {.team = asked->team,
		.job = asked->job,
		.run_id = asked->row.run_id,
		.project = asked->project,
		.project_id = asked->row.project_id,
		.settings = asked->settings,
		.tags = asked->tags,
		.start_ms = asked->row.start_ms,
		.now_ms = asked->now_ms};

	return run_adopt_job(tx, making->arena, &adoption, &making->document, out, err);
}

/* What its lines said before is decided by what was so then: sealed, so that a replay does not decide otherwise. */
static void settle_lines(struct job_state *job)
{
	struct stream_state *stream;

	for (size_t i = 0; (stream = job_stream_at(job, i)); i++) {
		pthread_mutex_lock(&stream->mutex);
		stream->is_decided = true;
		pthread_mutex_unlock(&stream->mutex);
	}
}

/* Before the commit: lines that come with it, or behind it, are judged by it. */
static void note_log(struct pipeline *pipeline, const struct tracked_run_row *run)
{
	struct job_state *job = directory_peek_id(pipeline->directory, run->job_id);

	if (job && job_note_log(job, run))
		settle_lines(job);
}

/* What was not committed is not so. */
static void note_log_again(struct pipeline *pipeline, struct span name, const struct tracked_run_row *before)
{
	struct job_state *job = before->job_id ? directory_find(pipeline->directory, name) : NULL;

	if (!job)
		return;
	if (job_note_log(job, before))
		settle_lines(job);
	job_unref(job);
}

static enum status write_run(void *context, struct store_tx *tx, struct error *err)
{
	struct making *making = context;
	struct run_making *asked = making->asked;
	struct adopted adopted = {0};
	int64_t from_ms = asked->row.start_ms < asked->now_ms ? asked->row.start_ms : asked->now_ms;
	struct job_row row = {.team = asked->team,
		.status = SPAN("InProgress"),
		.secondary = SPAN("Starting"),
		.failure_reason = SPAN(""),
		.created_ms = from_ms,
		.announced_ms = asked->now_ms,
		.modified_ms = asked->now_ms,
		.generation = 1};

	struct tracked_run_row known;
	enum status status = store_read_tracked_run(store_tx_reader(tx), making->arena, asked->row.run_id, &known, err);

	if (status != ERR_NOT_FOUND)
		return status == OK ? error_set(err, ERR_CONFLICT, "there is a run of this id already") : status;
	making->life = (struct life){.pipeline = making->pipeline, .arena = making->arena, .now_ms = asked->now_ms};
	making->adopted_id = 0;
	if (asked->job.len)
		TRY(adopt(making, tx, &adopted, err));
	making->before = adopted.before;
	making->is_within = adopted.is_within;
	if (adopted.shared.job_id)
		note_log(making->pipeline, &adopted.shared);
	if (adopted.is) {
		asked->row.job_id = making->adopted_id = adopted.row.job_id;
		return store_put_tracked_run(tx, &asked->row, err);
	}
	if (adopted.is_free)
		row.name = asked->job;
	else
		TRY(name_run(tx, making->arena, asked, &row.name, err));
	TRY(write_job(making, tx, &row, err));
	asked->row.job_id = row.job_id;
	return store_put_tracked_run(tx, &asked->row, err);
}

/* What the extractors take from the document follows it. */
static void show_document(struct pipeline *pipeline, int64_t job_id, struct span document)
{
	struct job_state *job = directory_peek_id(pipeline->directory, job_id);
	struct error err;

	if (!job)
		return;
	if (!atomic_exchange(&job->is_tracked, true))
		settle_lines(job);
	if (document.len && job_settings_state(job->settings, pipeline->devices, document, &err) != OK)
		log_line(LOG_WARNING, "settings_failed", "job=\"%s\" error=\"%s\"", job->name, err.text);
	atomic_store(&job->is_row_dirty, true);
}

static void say_run(void *context)
{
	const struct making *making = context;

	if (making->adopted_id)
		show_document(making->pipeline, making->adopted_id, buf_span(&making->document));
	else
		life_say(&making->life);
}

enum status pipeline_make_run(struct pipeline *pipeline, struct run_making *asked, struct error *err)
{
	AUTO(arena) arena = arena_new();
	struct making making = {
		.pipeline = pipeline, .arena = arena, .asked = asked, .document = BUF_INIT(DOCUMENT_MAX_BYTES)};

	if (!arena)
		return error_no_memory(err);
	enum status status = writer_execute_then(pipeline, write_run, say_run, &making, err);
	if (status != OK)
		note_log_again(pipeline, asked->job, &making.before);
	buf_done(&making.document);
	return status;
}

/* ---- changes ---- */

struct changing {
	struct pipeline *pipeline;
	struct arena *arena;
	struct run_change *asked;
	struct buf document; /* as it has become; empty: as it was */
	struct tracked_run_row before; /* its row; job_id 0: not read yet */
	struct lending lending; /* that begins or ends with it */
	int64_t job_id;
	struct life life;
	struct job_transition transition; /* with a status */
	struct told_row begun; /* where it was last said to train; start_ms 0: nowhere */
	int64_t went_on_ms; /* when that was by what it logged; 0: as it was said */
	bool is_outlived; /* nobody said it: one process ended the run, and another one went on */
	int64_t resumed_ms; /* when it is said to go on; 0: it is not */
};

/* Clients send again what they got no answer for. */
static enum status add_inputs(
	struct arena *arena, struct tracked_run_row *run, const struct run_change *asked, struct error *err)
{
	AUTO_DONE(buf) text = BUF_INIT(INPUTS_MAX_BYTES);

	if (!asked->input_count)
		return OK;
	buf_append(&text, run->inputs.ptr, run->inputs.len - 1); /* without its bracket */
	for (size_t i = 0; i < asked->input_count; i++) {
		if (span_find(buf_span(&text), asked->inputs[i]) >= 0)
			continue;
		if (text.len > 1)
			buf_append_char(&text, ',');
		buf_append_span(&text, asked->inputs[i]);
	}
	buf_append_char(&text, ']');
	if (text.failure == ERR_TOO_LARGE)
		return error_set(
			err, ERR_TOO_LARGE, "the datasets of the run are more than %d bytes", INPUTS_MAX_BYTES);
	TRY(buf_status(&text, err));
	run->inputs = arena_copy(arena, buf_span(&text));
	return run->inputs.ptr ? OK : error_no_memory(err);
}

/* MLflow's client says the end before with it. */
static bool goes_on(const struct run_change *asked)
{
	return span_equal(asked->status, TRACKED_RUNNING);
}

static void change_log(struct tracked_run_row *run, const struct run_change *asked)
{
	int64_t resumed_ms = asked->resumed_ms ? asked->resumed_ms : asked->now_ms;

	if (run->log_lent_ms && !run->log_lent_until_ms && goes_on(asked))
		run->log_lent_until_ms = resumed_ms;
	if (asked->leaves_log && !run->log_is_shared && !run->log_lent_runs) {
		run->log_alone_ms = asked->end_ms;
		run->log_alone_until_ms = 0;
	} else if (run->log_alone_ms && !run->log_alone_until_ms) {
		run->log_alone_until_ms = resumed_ms;
	}
}

static enum status change_row(
	const struct changing *changing, struct store_tx *tx, struct tracked_run_row *run, struct error *err)
{
	const struct run_change *asked = changing->asked;

	run->name = asked->name.len ? asked->name : run->name;
	if (asked->status.len) {
		run->status = asked->status;
		run->end_ms = asked->end_ms;
		change_log(run, asked);
	}
	TRY(add_inputs(changing->arena, run, asked, err));
	return store_put_tracked_run(tx, run, err);
}

/* It goes on, and no longer in the time of another job. The arena's. */
static enum status bill_alone(
	struct arena *arena, const struct run_change *asked, struct span *document, struct error *err)
{
	AUTO(json) parsed = NULL;
	AUTO_DONE(buf) text = BUF_INIT(DOCUMENT_MAX_BYTES);

	if (!goes_on(asked) || asked->relayed_by.len)
		return OK;
	TRY(json_parse(&parsed, *document, err));
	if (!tracked_billed_in(parsed).len || !json_get(parsed, TRACKED_BILLED))
		return OK;
	json_remove(parsed, TRACKED_BILLED);
	json_print(parsed, &text);
	TRY(buf_status(&text, err));
	*document = arena_copy(arena, buf_span(&text));
	return document->ptr ? OK : error_no_memory(err);
}

static enum status change_document(
	struct changing *changing, struct store_tx *tx, struct job_row *row, struct error *err)
{
	static const struct tracked_pairs none;
	const struct run_change *asked = changing->asked;
	struct span document = row->document;

	buf_reset(&changing->document); /* after a commit that failed this runs again */
	TRY(bill_alone(changing->arena, asked, &document, err));
	if (!asked->settings && !asked->tags && document.ptr == row->document.ptr)
		return OK;
	TRY(tracked_document_write(document, asked->settings ? asked->settings : &none,
		asked->tags ? asked->tags : &none, &changing->document, err));
	row->document = buf_span(&changing->document);
	row->modified_ms = asked->now_ms;
	return pools_put_job(tx, row, err);
}

/* Of a job that was there before its run (tracked_adopt.c) nobody said so: when that began is not the run's to say. */
static enum status has_begun_so(const struct changing *changing, struct store_tx *tx, int64_t job_id,
	const struct told_row *begun, bool *out, struct error *err)
{
	struct told_row *rows;
	size_t count;

	*out = false;
	TRY(store_read_told_facts(store_tx_reader(tx), changing->arena, job_id, &rows, &count, err));
	for (size_t i = 0; i < count; i++)
		*out = *out || (rows[i].source == begun->source && rows[i].start_ms == begun->start_ms &&
				       span_equal(rows[i].status, begun->status));
	return OK;
}

/* A client that sends a run of the past says first that it is, and then when it began. */
static enum status change_start(struct changing *changing, struct store_tx *tx, struct tracked_run_row *run,
	struct job_row *row, struct error *err)
{
	int64_t start_ms = changing->asked->start_ms;
	struct told_row begun = begun_at(run->start_ms), made = {.status = SPAN("Starting"),
								 .message = MADE_FOR_A_RUN,
								 .reason = SPAN(""),
								 .start_ms = run->start_ms,
								 .source = SOURCE_ASSUMED};
	struct told_row later = begun;
	bool has_begun;

	later.message = SPAN("");

	changing->life.failed = (struct job_failed_incident){0}; /* after a commit that failed this runs again */
	if (!start_ms || start_ms >= run->start_ms)
		return OK;
	TRY(has_begun_so(changing, tx, row->job_id, &begun, &has_begun, err));
	if (!has_begun) {
		run->start_ms = start_ms;
		return OK;
	}
	TRY(store_delete_told(tx, row->job_id, &begun, err));
	if (changing->asked->is_part && run->end_ms)
		TRY(store_put_told(tx, row->job_id, &later, err));
	TRY(store_delete_told(tx, row->job_id, &made, err));
	run->start_ms = begun.start_ms = made.start_ms = start_ms;
	TRY(store_put_told(tx, row->job_id, &begun, err));
	TRY(store_put_told(tx, row->job_id, &made, err));
	TRY(store_put_status_message(
		tx, row->job_id, &(struct status_message){start_ms, begun.status, begun.message}, err));
	return life_write(&changing->life, tx, row, false, err);
}

/* Of the past, by the end that its client dates: that it went on is then of that time, too, and not of when it was told. */
static enum status change_begun(const struct changing *changing, struct store_tx *tx, int64_t job_id, struct error *err)
{
	struct told_row begun = changing->begun;

	if (!changing->went_on_ms)
		return OK;
	if (changing->is_outlived)
		begun = (struct told_row){
			.status = SPAN("Training"), .message = SPAN(""), .reason = SPAN(""), .source = SOURCE_STATED};
	else
		TRY(store_delete_told(tx, job_id, &begun, err));
	begun.start_ms = changing->went_on_ms;
	return store_put_told(tx, job_id, &begun, err);
}

/* Where it was last said to train, as far as that holds with an end at end_ms (0: all of it does); *ended_ms: when it was last said to have ended. */
static enum status read_begun(struct store_reader *reader, struct arena *arena, int64_t job_id, int64_t end_ms,
	struct told_row *begun, int64_t *ended_ms, struct error *err)
{
	struct told_row *rows;
	size_t count;

	*begun = (struct told_row){0};
	*ended_ms = 0;
	TRY(store_read_told_facts(reader, arena, job_id, &rows, &count, err));
	count = end_ms ? run_gap_held(rows, count, end_ms) : count;
	for (size_t i = 0; i < count; i++) {
		bool is_end = phase_is_final(rows[i].status);
		if (rows[i].source != SOURCE_STATED)
			continue;
		if (!is_end && rows[i].start_ms > begun->start_ms)
			*begun = rows[i];
		if (is_end && rows[i].start_ms > *ended_ms)
			*ended_ms = rows[i].start_ms;
	}
	return OK;
}

/* Whether what it logged between two ends may say that it went on. *is_outlived: nobody else does. */
static bool may_have_gone_on(const struct run_change *asked, int64_t begun_ms, int64_t ended_ms, bool *is_outlived)
{
	*is_outlived = asked->may_outlive && begun_ms <= ended_ms;
	return ended_ms && ended_ms < asked->end_ms && (*is_outlived || begun_ms >= asked->end_ms);
}

/*
 * Its client dates the end; that it goes on is of our clock. Where they differ neither may come before what it follows. Decided in the writer's
 * turn: what was sent is then in the gaps that it makes smaller.
 */
static enum status place(struct changing *changing, struct store_tx *tx, const struct job_row *row, struct error *err)
{
	const struct run_change *asked = changing->asked;
	struct store_reader *reader = store_tx_reader(tx);
	bool is_end = phase_is_final(asked->secondary);
	int64_t end_ms = is_end ? asked->end_ms : 0, at_ms = is_end ? end_ms : asked->resumed_ms, ended_ms;

	changing->went_on_ms = changing->resumed_ms = 0; /* after a commit that failed this runs again */
	changing->transition.time_ms = at_ms ? at_ms : asked->now_ms;
	TRY(read_begun(reader, changing->arena, row->job_id, end_ms, &changing->begun, &ended_ms, err));
	bool may_go_on = is_end && may_have_gone_on(asked, changing->begun.start_ms, ended_ms, &changing->is_outlived);
	bool is_its = ended_ms == changing->before.end_ms; /* and not what a scheduler says */
	if (may_go_on && (is_its || !changing->is_outlived))
		TRY(went_on_find(changing->pipeline, reader, row->name, ended_ms, end_ms, &changing->went_on_ms, err));
	if (end_ms)
		TRY(run_gap_take_back(tx, changing->arena, row->job_id, end_ms, err));
	int64_t begun_ms = changing->went_on_ms ? changing->went_on_ms : changing->begun.start_ms;
	if (is_end && begun_ms >= changing->transition.time_ms)
		changing->transition.time_ms = begun_ms + 1;
	if (!is_end && row->ended_ms >= changing->transition.time_ms)
		changing->transition.time_ms = row->ended_ms + 1;
	changing->resumed_ms = is_end ? 0 : changing->transition.time_ms;
	return OK;
}

/* Of a later run of the training: its log is of that while it goes on. */
static enum status change_lending(struct changing *changing, struct store_tx *tx, const struct job_row *row,
	const struct tracked_run_row *run, struct error *err)
{
	const struct run_change *asked = changing->asked;
	bool was_open = span_equal(changing->before.status, TRACKED_RUNNING);
	int64_t begun_ms = changing->begun.start_ms > run->start_ms ? changing->begun.start_ms : run->start_ms;

	changing->lending = (struct lending){0};
	if (phase_is_final(asked->secondary) && was_open)
		return run_give_log_back(tx, changing->arena, row, begun_ms, run->end_ms, &changing->lending, err);
	if (changing->resumed_ms && goes_on(asked) && asked->relayed_by.len && !was_open)
		return run_lend_log_again(
			tx, changing->arena, row, asked->relayed_by, changing->resumed_ms, &changing->lending, err);
	return OK;
}

static enum status write_change(void *context, struct store_tx *tx, struct error *err)
{
	struct changing *changing = context;
	struct tracked_run_row run;
	struct job_row row;

	TRY(store_read_tracked_run(store_tx_reader(tx), changing->arena, changing->asked->run_id, &run, err));
	TRY(store_read_job_by_id(store_tx_reader(tx), changing->arena, run.job_id, &row, err));
	TRY(check_team(row.team, row.name, changing->asked->team, err));
	changing->asked->job = row.name;
	changing->job_id = row.job_id;
	changing->before = run;
	TRY(change_start(changing, tx, &run, &row, err));
	if (changing->asked->secondary.len)
		TRY(place(changing, tx, &row, err));
	TRY(change_begun(changing, tx, row.job_id, err));
	if (changing->resumed_ms)
		TRY(tracked_gap_cut(changing->pipeline, tx, changing->arena, &row, changing->resumed_ms, err));
	TRY(change_row(changing, tx, &run, err));
	TRY(change_document(changing, tx, &row, err));
	note_log(changing->pipeline, &run);
	TRY(change_lending(changing, tx, &row, &run, err));
	if (changing->lending.job.len)
		note_log(changing->pipeline, &changing->lending.run);
	return OK;
}

static void show_change(void *context)
{
	const struct changing *changing = context;

	show_document(changing->pipeline, changing->job_id, buf_span(&changing->document));
	life_say(&changing->life);
}

/* Where what it sent decides, all of it is read first: of one that goes on, where the silence begins; of one that went on behind its end, when. */
static enum status state(
	struct changing *changing, struct store_reader *reader, const struct job_row *row, struct error *err)
{
	const struct run_change *asked = changing->asked;
	bool is_end = phase_is_final(asked->secondary);
	struct told_row begun;
	int64_t ended_ms;
	bool is_outlived;

	changing->transition = (struct job_transition){.secondary = asked->secondary,
		.message = SPAN(""),
		.failure_reason = asked->reason,
		.time_ms = asked->now_ms, /* until place() */
		.has_time = !is_end || asked->end_ms,
		.first = write_change,
		.context = changing};
	TRY(read_begun(reader, changing->arena, row->job_id, 0, &begun, &ended_ms, err));
	bool asks_log = asked->end_ms && (begun.start_ms >= asked->end_ms ||
						 may_have_gone_on(asked, begun.start_ms, ended_ms, &is_outlived));
	if (!is_end || asks_log)
		TRY(log_end_await(changing->pipeline, asked->job, err));
	return pipeline_add_transition(changing->pipeline, asked->job, asked->team, &changing->transition, NULL, err);
}

static enum status find_job(
	struct changing *changing, struct store_reader *reader, struct job_row *row, struct error *err)
{
	struct tracked_run_row run;

	TRY(store_read_tracked_run(reader, changing->arena, changing->asked->run_id, &run, err));
	TRY(store_read_job_by_id(reader, changing->arena, run.job_id, row, err));
	changing->asked->job = row->name;
	return OK;
}

enum status pipeline_change_run(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	struct run_change *asked, struct error *err)
{
	struct changing changing = {
		.pipeline = pipeline, .arena = arena, .asked = asked, .document = BUF_INIT(DOCUMENT_MAX_BYTES)};
	struct job_row row;
	enum status status;

	changing.life = (struct life){.pipeline = pipeline, .arena = arena, .now_ms = asked->now_ms};
	if (!asked->secondary.len) {
		status = writer_execute_then(pipeline, write_change, show_change, &changing, err);
	} else {
		status = find_job(&changing, reader, &row, err);
		if (status == OK)
			status = state(&changing, reader, &row, err);
	}
	if (status != OK) {
		note_log_again(pipeline, asked->job, &changing.before);
		note_log_again(pipeline, changing.lending.job, &changing.lending.before);
	}
	buf_done(&changing.document);
	return status;
}
