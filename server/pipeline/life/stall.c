#include "pipeline/life/stall.h"

#include "base/clock.h"
#include "base/log.h"
#include "model/incident.h"
#include "model/metrics/stream_name.h"
#include "pipeline/alert/incident_effects.h"
#include "pipeline/alert/incidents.h"
#include "pipeline/alert/notices.h"
#include "pipeline/life/fault_window.h"
#include "state/control.h"
#include "state/streams/directory.h"
#include "state/execute.h"
#include "state/pipeline_state.h"
#include "store/alerts.h"
#include "store/jobs.h"
#include "store/transitions.h"

void stall_note_commit(struct job_state *job, int64_t now_mono_ms)
{
	pthread_mutex_lock(&job->mutex);
	rhythm_hear(&job->rhythm, now_mono_ms);
	pthread_mutex_unlock(&job->mutex);
}

/* ---- one incident of a job ---- */

struct note {
	struct pipeline *pipeline;
	struct job_state *job;
	struct incident_row row;
	struct incident_effects told;
	struct arena *arena; /* of the fault */
};

static struct incident_row row_of(const struct job_state *job, const struct incident *incident)
{
	return (struct incident_row){.job_id = job->job_id,
		.job = span_from(job->name),
		.metric = SPAN(""),
		.stream = SPAN(""),
		.incident = *incident};
}

/* Shortly before the silence: behind the last step alone there may be nothing yet. */
static enum status find_fault(
	const struct note *note, struct store_reader *reader, struct known_fault *fault, struct error *err)
{
	int64_t job_id = note->job->job_id, at_ms = (int64_t)note->row.incident.opened_ordinal;
	struct history history = {.failure_reason = SPAN("")};
	struct fault_window window;
	struct job_row row;

	TRY(store_read_job_by_id(reader, note->arena, job_id, &row, err));
	TRY(store_read_transitions(reader, note->arena, job_id, &history.rows, &history.count, err));
	TRY(fault_window_read(note->pipeline, reader, note->arena, &row, &history, at_ms, &window, err));
	window.last_step_ms = INT64_MIN;
	return known_fault_find(note->pipeline, reader, note->arena, job_id, &window, at_ms, fault, err);
}

static enum status write_note(void *context, struct store_tx *tx, struct error *err)
{
	struct note *note = context;
	struct known_fault fault;
	bool is_gone;

	note->told = (struct incident_effects){0};
	TRY(control_check_job_gone(note->pipeline, tx, note->job, &is_gone, err));
	if (is_gone)
		return OK;
	if (note->row.incident.kind == INCIDENT_STALL && note->row.incident.state == INCIDENT_OPEN) {
		TRY(find_fault(note, store_tx_reader(tx), &fault, err));
		note->row.detail = fault.words;
		note->row.facts = fault.facts;
	}
	return incidents_write(note->pipeline, tx, &note->row, span_from(note->job->team), &note->told, err);
}

static enum status put(
	struct pipeline *pipeline, struct job_state *job, const struct incident *incident, struct error *err)
{
	AUTO(arena) arena = arena_new();
	struct note note = {.pipeline = pipeline, .job = job, .row = row_of(job, incident), .arena = arena};

	if (!arena)
		return error_no_memory(err);
	TRY(writer_execute(pipeline, write_note, &note, err));
	atomic_store(&job->is_row_dirty, true);
	incidents_publish(pipeline, &note.row, &note.told);
	return OK;
}

/* *incident_id 0: none is open. */
static enum status find_open(struct store_reader *reader, int64_t job_id, enum incident_kind kind, struct incident *out,
	uint32_t *incident_id, struct error *err)
{
	AUTO(arena) arena = arena_new();
	struct incident_filter filter = {
		.job_id = job_id, .state = INCIDENT_OPEN, .kind = (int)kind, .cursor = SPAN(""), .limit = 1};
	struct incident_row *rows;
	struct span cursor;
	size_t count;

	if (!arena)
		return error_no_memory(err);
	TRY(store_read_incidents(reader, arena, &filter, &rows, &count, &cursor, err));
	*incident_id = count ? rows[0].incident_id : 0;
	if (count)
		*out = rows[0].incident;
	return OK;
}

/* ---- silence ---- */

struct look {
	struct pipeline *pipeline;
	struct store_reader *reader;
	int64_t mono_ms;
	int64_t floor_ms;
	size_t loud; /* jobs with a rhythm that are within it */
	size_t stalled; /* jobs whose stall is open */
};

struct heard {
	struct rhythm rhythm;
	int64_t silent_ms;
	int64_t limit_ms;
};

static struct heard hear_of(const struct look *look, struct job_state *job)
{
	struct heard heard;

	pthread_mutex_lock(&job->mutex);
	heard.rhythm = job->rhythm;
	pthread_mutex_unlock(&job->mutex);
	heard.silent_ms = look->mono_ms - heard.rhythm.last_ms;
	heard.limit_ms = heard.rhythm.gaps ? rhythm_limit_ms(&heard.rhythm, look->floor_ms) : INT64_MAX;
	return heard;
}

/* Nobody waits for a job that is over; nor for the next line of a past one that is being imported. */
static enum status is_expected(const struct look *look, struct job_state *job, bool *out, struct error *err)
{
	AUTO(arena) arena = arena_new();
	struct job_row row;
	struct stream_state *stream;
	int64_t last_ms = 0, heard_ms = 0;

	if (!arena)
		return error_no_memory(err);
	TRY(store_read_job_by_id(look->reader, arena, job->job_id, &row, err));
	for (size_t i = 0; (stream = job_stream_at(job, i)); i++) {
		if (stream_is_system(span_from(stream->name)))
			continue;
		pthread_mutex_lock(&stream->mutex);
		last_ms = stream->last_ms > last_ms ? stream->last_ms : last_ms;
		heard_ms = stream->last_arrival_ms > heard_ms ? stream->last_arrival_ms : heard_ms;
		pthread_mutex_unlock(&stream->mutex);
	}
	*out = row.ended_ms == 0 && span_equal(row.status, SPAN("InProgress")) && last_ms > heard_ms - HISTORIC_MS;
	return OK;
}

static int64_t last_step(struct job_state *job)
{
	struct stream_state *stream;
	int64_t step = 0;

	for (size_t i = 0; (stream = job_stream_at(job, i)); i++) {
		pthread_mutex_lock(&stream->mutex);
		for (size_t j = 0; j < stream->series_count; j++)
			if (stream->series[j]->role == ROLE_LOSS && stream->series[j]->summary.last_step > step)
				step = stream->series[j]->summary.last_step;
		pthread_mutex_unlock(&stream->mutex);
	}
	return step;
}

/* value, expected, spread: seconds of silence, between two commits as a rule, and of the longest gap of late. */
static enum status open_stall(struct look *look, struct job_state *job, const struct heard *heard, struct error *err)
{
	int64_t step = last_step(job), now_ms = clock_wall_ms(), since_ms = now_ms - heard->silent_ms;
	double silent_s = (double)heard->silent_ms / 1000;
	struct incident incident = {.kind = INCIDENT_STALL,
		.severity = SEVERITY_WARNING,
		.state = INCIDENT_OPEN,
		.opened_ordinal = (uint64_t)since_ms,
		.first_step = step,
		.last_step = step,
		.opened_step = step,
		.opened_ms = now_ms,
		.line = NO_LINE,
		.value = silent_s,
		.expected = heard->rhythm.typical_ms / 1000,
		.spread = heard->rhythm.longest_ms / 1000,
		.score = (double)heard->silent_ms / heard->rhythm.typical_ms,
		.worst = silent_s,
		.worst_step = step};

	TRY(put(look->pipeline, job, &incident, err));
	job->has_stall = true;
	return OK;
}

static enum status end_stall(struct look *look, struct job_state *job, struct error *err)
{
	struct incident incident;
	uint32_t open_id;

	job->has_stall = true; /* until it is known and written that there is none: what fails is tried again */
	TRY(find_open(look->reader, job->job_id, INCIDENT_STALL, &incident, &open_id, err));
	if (open_id) {
		incident.state = INCIDENT_RECOVERED;
		incident.closed_ms = clock_wall_ms();
		incident.worst = (double)(incident.closed_ms - (int64_t)incident.opened_ordinal) / 1000;
		TRY(put(look->pipeline, job, &incident, err));
	}
	job->has_stall = false;
	return OK;
}

/* What a start does not know: whether the job was silent when the server before it stopped. */
static bool may_be_open(struct job_state *job, const struct heard *heard)
{
	bool is_first_look = !job->is_watched && heard->rhythm.first_ms;

	job->is_watched = job->is_watched || is_first_look;
	return job->has_stall || is_first_look;
}

/*
 * Several jobs with a rhythm, and not one of them is heard: that is the network, or us. One incident says so; the others
 * open when anything is heard again and they are not.
 */
static bool is_of_all(const struct look *look)
{
	return look->loud == 0 && look->stalled > 0;
}

static enum status look_at(struct look *look, struct job_state *job, struct error *err)
{
	struct heard heard = hear_of(look, job);
	bool is_silent = heard.silent_ms > heard.limit_ms, is_wanted = false;

	if (is_silent)
		TRY(is_expected(look, job, &is_wanted, err));
	if (!is_wanted && may_be_open(job, &heard))
		return end_stall(look, job, err);
	if (!is_wanted || job->has_stall || is_of_all(look))
		return OK;
	look->stalled++;
	return open_stall(look, job, &heard, err);
}

static void count(struct look *look, struct job_state *job)
{
	struct heard heard = hear_of(look, job);

	look->loud += heard.limit_ms != INT64_MAX && heard.silent_ms <= look->floor_ms / 2;
	look->stalled += job->has_stall;
}

void stall_run(struct pipeline *pipeline, struct store_reader *reader)
{
	AUTO_MEM struct job_state **jobs = NULL;
	struct look look = {.pipeline = pipeline,
		.reader = reader,
		.mono_ms = clock_mono_ms(),
		.floor_ms = pipeline->options.stall_ms};
	struct error err;
	size_t job_count;

	if (!look.floor_ms || directory_list(pipeline->directory, &jobs, &job_count, &err) != OK)
		return; /* out of memory: the next round tries again */
	for (size_t i = 0; i < job_count; i++)
		count(&look, jobs[i]);
	for (size_t i = 0; i < job_count; i++) {
		enum status status = atomic_load(&jobs[i]->is_deleted) ? OK : look_at(&look, jobs[i], &err);
		if (status != OK && status != ERR_UNAVAILABLE && status != ERR_NOT_FOUND)
			log_line(LOG_WARNING, "watch_failed", "job=\"%s\" error=\"%s\"", jobs[i]->name, err.text);
		job_unref(jobs[i]);
	}
}

/* ---- failure ---- */

enum status stall_is_named_otherwise(struct store_reader *reader, struct arena *arena, const struct job_row *job,
	const struct known_fault *fault, bool *out, struct error *err)
{
	struct incident incident;
	struct incident_row row;
	uint32_t open_id;

	*out = false;
	TRY(find_open(reader, job->job_id, INCIDENT_JOB_FAILED, &incident, &open_id, err));
	if (!open_id || !fault->is_looked_for)
		return OK;
	TRY(store_read_incident(reader, arena, job->job_id, open_id, &row, err));
	*out = !span_equal(row.facts, fault->facts);
	return OK;
}

enum status stall_put_status(struct pipeline *pipeline, struct store_tx *tx, const struct job_row *job,
	const struct known_fault *fault, struct job_failed_incident *out, struct error *err)
{
	bool has_failed = span_equal(job->status, SPAN("Failed"));
	struct incident incident;
	uint32_t open_id;

	*out = (struct job_failed_incident){0};
	TRY(notices_enqueue_job_state(pipeline, tx, job, &out->has_state_messages, err));
	TRY(find_open(store_tx_reader(tx), job->job_id, INCIDENT_JOB_FAILED, &incident, &open_id, err));
	if (has_failed && open_id && fault->is_looked_for)
		return store_put_incident_facts(tx, job->job_id, open_id, fault->facts, err);
	if (has_failed == (open_id != 0))
		return OK;
	if (has_failed)
		incident = (struct incident){.kind = INCIDENT_JOB_FAILED,
			.severity = SEVERITY_CRITICAL,
			.state = INCIDENT_OPEN,
			.opened_ordinal = (uint64_t)job->ended_ms,
			.opened_ms = job->ended_ms,
			.line = NO_LINE,
			.is_historic = job->ended_ms < job->modified_ms - HISTORIC_MS};
	else
		incident.state = INCIDENT_RECOVERED, incident.closed_ms = job->modified_ms;
	out->is_told = true;
	out->row = (struct incident_row){.job_id = job->job_id,
		.job = job->name,
		.metric = SPAN(""),
		.stream = SPAN(""),
		.detail = fault->detail.len ? fault->detail : job->failure_reason,
		.facts = fault->facts,
		.is_news = job->is_end_ours,
		.incident = incident};
	return incidents_write(pipeline, tx, &out->row, job->team, &out->told, err);
}

void stall_publish_failed(struct pipeline *pipeline, const struct job_failed_incident *failed)
{
	if (failed->is_told)
		incidents_publish(pipeline, &failed->row, &failed->told);
	if (failed->has_state_messages && pipeline->options.deliveries_due)
		pipeline->options.deliveries_due(pipeline->options.context);
}
