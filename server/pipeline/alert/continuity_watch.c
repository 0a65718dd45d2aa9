/*
 * A look reads the whole series: it is begun when an attempt came, and repeated at growing distances until so much was printed that
 * another look would say the same. What was found is known by its attempt, so a start of the server finds nothing twice.
 */
#include "pipeline/alert/continuity_watch.h"

#include "base/clock.h"
#include "base/json/json_write.h"
#include "model/incident.h"
#include "model/metrics/stream_name.h"
#include "pipeline/alert/each_job.h"
#include "pipeline/alert/job_incident.h"
#include "read/charts/continuity_read.h"
#include "state/pipeline_state.h"
#include "store/jobs.h"
#include "store/run.h"

#include <stdlib.h>

enum {
	STEPS_MIN =
		8, /* that both printed: of so few the median is beyond three spreads by chance once in a million times */
	FAR_STEPS_MIN = 4, /* where the restart left no more in common, and each of them is beyond: */
	FAR_SPREADS = 8,
	FIRST_LOOK_MS = 5000,
	LAST_LOOK_MS = 10 * 60 * 1000,
	RESTARTS_LOOKED_AT = 8, /* the newest, and those that it may take back */
	FACTS_BYTES = 1024
};

/* Those of a stream that stand: a counter of each epoch looks like a restart until it starts over again. Behind the job's end nothing is taken back. */
static uint32_t standing_attempts(const struct job_state *job, const struct extractor *extractor)
{
	uint32_t attempts = extractor_attempt(extractor);

	return attempts - (extractor_is_on_trial(extractor) && !atomic_load(&job->is_over));
}

/* Of the stream that has most; the log time of its newest line. */
static uint32_t find_attempts(struct job_state *job, int64_t *newest_ms)
{
	struct stream_state *stream;
	uint32_t most = 0;

	*newest_ms = 0;
	for (size_t i = 0; (stream = job_stream_at(job, i)); i++) {
		if (stream_is_system(span_from(stream->name)))
			continue;
		pthread_mutex_lock(&stream->mutex);
		uint32_t count = stream->extractor ? standing_attempts(job, stream->extractor) : 0;
		most = count > most ? count : most;
		*newest_ms = stream->last_ms > *newest_ms ? stream->last_ms : *newest_ms;
		pthread_mutex_unlock(&stream->mutex);
	}
	return most;
}

/* What is known of its restarts, open or over. */
struct known {
	struct incident_row *rows;
	size_t count;
};

/* What is to be said of a job. */
struct watching {
	struct pipeline *pipeline;
	struct store_reader *reader;
	struct arena *arena;
	struct job_state *job;
	uint32_t attempts;
	struct span continues; /* the job that it states to go on with; "" */
	bool is_anew; /* it states another job than when it was looked at */
	bool is_beside_other; /* and by the evidence what was said of its beginning last was said beside that one */
	bool is_over; /* and that has ended, or ends with this look: it may be said again */
	int64_t newest_ms;
	struct known known;
	struct continuity_report report;
};

static enum status write_facts(
	const struct watching *watching, const struct continuity_restart *restart, struct buf *out, struct error *err)
{
	const struct continuity_report *report = &watching->report;
	const struct span metrics[] = {[CONTINUITY_LOSS] = report->metric,
		[CONTINUITY_RATE] = report->rate_metric,
		[CONTINUITY_DATA] = report->data_metric,
		[CONTINUITY_NO_NUMBER] = report->metric};
	struct json_writer w = json_writer_on(out);

	json_put_text(&w, "cause", restart->judged.causes[0]);
	json_put_i64(&w, "attempt", restart->attempt);
	json_put_span(&w, "metric", metrics[restart->judged.about]);
	json_put_i64(&w, "from_step", restart->from_step);
	json_put_i64(&w, "overlap_steps", (int64_t)restart->judged.overlap_steps);
	if (restart->attempt == 1)
		json_put_span(&w, "continues", watching->continues);
	return buf_status(out, err);
}

static void set_figures(struct incident *incident, int64_t step, double value, double expected)
{
	incident->first_step = incident->last_step = incident->opened_step = incident->worst_step = step;
	incident->value = incident->worst = value;
	incident->expected = expected;
}

/* Of what differs. */
static void fill(struct incident *incident, const struct continuity *c)
{
	switch (c->about) {
	case CONTINUITY_RATE:
		set_figures(incident, c->rate_step, c->rate_after, c->rate_before);
		return;
	case CONTINUITY_DATA:
		set_figures(incident, c->data_step, c->data_after, c->data_before);
		return;
	case CONTINUITY_NO_NUMBER:
		set_figures(incident, c->no_number_step, c->no_number_after, c->no_number_before);
		return;
	case CONTINUITY_LOSS:
		break;
	}
	set_figures(incident, c->first_step, c->loss_after, c->loss_before);
	incident->spread = c->loss_spread;
	incident->score = c->loss_spreads;
}

/* is_old: of a time before this start of the server, nobody is woken for it. */
static enum status open_incident(const struct watching *w, const struct continuity_restart *restart, bool is_old,
	bool is_again, struct error *err)
{
	struct job_incident note = {.pipeline = w->pipeline, .job = w->job};
	AUTO_DONE(buf) facts = BUF_INIT(FACTS_BYTES);

	TRY(write_facts(w, restart, &facts, err));
	note.row.facts = buf_span(&facts);
	note.row.detail = span_from(restart->judged.causes[0]);
	note.row.attempt = restart->attempt;
	/* of the restart; whether anybody is woken for it the newest line says, since the figures take hours of it */
	note.row.incident = (struct incident){.kind = INCIDENT_RESTART_DIFFERS,
		.severity = SEVERITY_WARNING,
		.state = INCIDENT_OPEN,
		.opened_ordinal = restart->attempt, /* one a restart */
		.opened_ms = restart->began_ms < w->newest_ms ? restart->began_ms : w->newest_ms,
		.is_again = is_again,
		.is_historic = is_old || w->newest_ms < clock_wall_ms() - HISTORIC_MS};
	fill(&note.row.incident, &restart->judged);
	return job_incident_put(&note, err);
}

/*
 * Few steps that are far: a trainer that prints each tenth step has four in common if it goes back forty, and 256 prints are 2560 steps away.
 * By chance: the difference of two prints strays by the root of 2 spreads, so 8 spreads are 5.66 of its deviations, beyond which on one
 * given side it is 8e-9 of the times; four, all on the one side or all on the other, 2 * (8e-9)^4 = 8e-33. Where the spread was
 * estimated at half of what it is, from 15 changes: 2.83 deviations, 2 * 0.0023^4 = 6e-11; with tails as of Student's t of 3 degrees of
 * freedom about 2 * 0.005^4 = 1e-9.
 */
static bool is_far(const struct continuity *c)
{
	return c->about == CONTINUITY_LOSS && c->is_past && c->overlap_steps >= FAR_STEPS_MIN &&
	       c->least_spreads > FAR_SPREADS;
}

/* Another look would say the same. */
static bool is_settled(const struct continuity *c)
{
	return c->overlap_steps >= CONTINUITY_PAIRS || c->after_count >= CONTINUITY_WINDOW ||
	       (c->verdict == CONTINUITY_DIFFERS && (c->overlap_steps >= STEPS_MIN || is_far(c)));
}

static enum status read_known(struct store_reader *reader, struct arena *arena, const struct job_state *job,
	struct known *out, struct error *err)
{
	struct incident_filter filter = {.has_all = true,
		.job_id = job->job_id,
		.state = -1,
		.kind = INCIDENT_RESTART_DIFFERS,
		.cursor = SPAN(""),
		.limit = CONTINUITY_RESTARTS_MAX};
	struct span cursor;

	return store_read_incidents(reader, arena, &filter, &out->rows, &out->count, &cursor, err);
}

static bool is_known(const struct known *known, uint32_t attempt)
{
	for (size_t i = 0; i < known->count; i++)
		if (known->rows[i].incident.opened_ordinal == attempt)
			return true;
	return false;
}

/* Said of the job's beginning beside another job, and over since: beside the present one it may be so again. */
static bool is_taken_back(const struct known *known)
{
	for (size_t i = 0; i < known->count; i++)
		if (known->rows[i].incident.opened_ordinal == 1 && known->rows[i].incident.state == INCIDENT_OPEN)
			return false;
	return is_known(known, 1);
}

/* Of the newest one of its beginning. A start of the server does not know what was stated since, but the evidence does. */
static bool is_beside_other(const struct known *known, struct span continues)
{
	AUTO_DONE(buf) text = BUF_INIT(FACTS_BYTES + 2);
	AUTO(json) facts = NULL;
	const struct incident_row *newest = NULL;

	for (size_t i = 0; i < known->count; i++)
		if (known->rows[i].incident.opened_ordinal == 1 &&
			(!newest || known->rows[i].incident_id > newest->incident_id))
			newest = &known->rows[i];
	if (!newest)
		return false;
	buf_printf(&text, "{%.*s}", SPAN_ARGS(newest->facts));
	if (text.failure || json_parse(&facts, buf_span(&text), NULL) != OK)
		return false;
	const struct json *said = json_get(facts, "continues"); /* an older server did not say it */
	return said && !span_equal(json_string_of(said), continues);
}

/* One of an earlier restart ends with this one. */
static enum status end_earlier(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	struct job_state *job, uint32_t attempt, struct error *err)
{
	struct known known;

	TRY(read_known(reader, arena, job, &known, err));
	for (size_t i = 0; i < known.count; i++)
		if (known.rows[i].incident.opened_ordinal != attempt && known.rows[i].incident.state == INCIDENT_OPEN)
			TRY(job_incident_end(pipeline, job, &known.rows[i], err));
	return OK;
}

/* What somebody alone says needs no message. */
static bool is_told(const struct continuity_restart *restart)
{
	return restart->verdict == CONTINUITY_DIFFERS && restart->judged.verdict == CONTINUITY_DIFFERS;
}

/* The newest one came before anybody had looked at these: they are told of and are over. */
static enum status look_at_earlier(struct watching *w, struct error *err)
{
	for (size_t i = 0; i < w->report.count; i++) {
		const struct continuity_restart *restart = &w->report.restarts[i];
		if (restart->attempt >= w->attempts || restart->attempt <= w->job->judged_attempts ||
			!is_told(restart) || is_known(&w->known, restart->attempt))
			continue;
		TRY(open_incident(w, restart, !w->job->judged_attempts, false, err));
	}
	return OK;
}

/* There may be one behind it that is on trial. NULL: it has printed no loss. */
static const struct continuity_restart *find_restart(const struct continuity_report *report, uint32_t attempt)
{
	for (size_t i = report->count; i-- > 0;)
		if (report->restarts[i].attempt == attempt)
			return &report->restarts[i];
	return NULL;
}

/* *is_done: nothing more comes of this restart. */
static enum status look_at_newest(struct watching *w, bool has_ended, bool *is_done, struct error *err)
{
	const struct continuity_report *report = &w->report;
	const struct continuity_restart *newest = find_restart(report, w->attempts);
	bool goes_on_with_none = w->attempts == 1 && report->metric.len && !newest && !report->pending;

	*is_done = goes_on_with_none || has_ended || (newest && is_settled(&newest->judged));
	if (!newest || !*is_done || !is_told(newest))
		return OK;
	return open_incident(w, newest, false, w->is_over, err);
}

/* What was said of the job's beginning was said beside another job. */
static enum status end_if_other(struct watching *w, struct error *err)
{
	const struct continuity_restart *first = w->report.count ? w->report.restarts : NULL;

	if (!w->is_anew ||
		(!w->is_beside_other && first && first->attempt == 1 && first->verdict == CONTINUITY_DIFFERS))
		return OK;
	for (size_t i = 0; i < w->known.count; i++)
		if (w->known.rows[i].incident.opened_ordinal == 1 && w->known.rows[i].incident.state == INCIDENT_OPEN)
			TRY(job_incident_end(w->pipeline, w->job, &w->known.rows[i], err));
	return OK;
}

static enum status look(struct watching *w, bool *is_done, struct error *err)
{
	AUTO(arena) arena = w->arena = arena_new();
	struct job_row row;

	if (!arena)
		return error_no_memory(err);
	TRY(store_read_job_by_id(w->reader, w->arena, w->job->job_id, &row, err));
	TRY(read_known(w->reader, w->arena, w->job, &w->known, err));
	TRY(store_read_continued(w->reader, w->arena, w->job->job_id, &w->continues, err));
	w->is_beside_other = is_beside_other(&w->known, w->continues);
	w->is_anew |= w->is_beside_other;
	w->is_over = w->is_anew && w->attempts == 1 && (w->is_beside_other || is_taken_back(&w->known));
	*is_done = is_known(&w->known, w->attempts) && !w->is_over;
	if (!*is_done || w->is_anew)
		TRY(continuity_read(w->pipeline, w->reader, w->arena, row.name, RESTARTS_LOOKED_AT, &w->report, err));
	TRY(end_if_other(w, err));
	if (!*is_done) {
		TRY(look_at_earlier(w, err));
		TRY(look_at_newest(w, row.ended_ms != 0, is_done, err));
	}
	return end_earlier(w->pipeline, w->reader, w->arena, w->job, w->attempts, err);
}

static enum status watch(
	struct pipeline *pipeline, struct store_reader *reader, struct job_state *job, struct error *err)
{
	struct watching w = {.pipeline = pipeline, .reader = reader, .job = job};
	int64_t now_ms = clock_mono_ms();
	uint32_t attempts = w.attempts = find_attempts(job, &w.newest_ms);
	bool is_done = false;

	if (atomic_exchange(&job->goes_on_otherwise, false))
		job->judged_attempts = job->judging_attempt = 0, job->is_judged_anew = true;
	if (!attempts || attempts == job->judged_attempts)
		return OK;
	if (attempts != job->judging_attempt) {
		job->judging_attempt = attempts;
		job->judge_wait_ms = FIRST_LOOK_MS;
		job->judge_ms = now_ms;
	}
	if (now_ms < job->judge_ms)
		return OK;
	job->judge_ms = now_ms + job->judge_wait_ms; /* also of a look that fails: what is damaged stays so */
	job->judge_wait_ms = job->judge_wait_ms < LAST_LOOK_MS / 2 ? 2 * job->judge_wait_ms : LAST_LOOK_MS;
	w.is_anew = job->is_judged_anew;
	TRY(look(&w, &is_done, err));
	if (is_done) {
		job->is_judged_anew = false;
		job->judged_attempts = attempts;
	}
	return OK;
}

void continuity_watch_run(struct pipeline *pipeline, struct store_reader *reader)
{
	each_job_look(pipeline, reader, "continuity_failed", watch);
}
