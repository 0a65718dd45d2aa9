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

#include <stdlib.h>

enum {
	STEPS_MIN =
		8, /* that both printed: of so few the median is beyond three spreads by chance once in a million times */
	FIRST_LOOK_MS = 5000,
	LAST_LOOK_MS = 10 * 60 * 1000,
	RESTARTS_LOOKED_AT = 8, /* the newest, and those that it may take back */
	FACTS_BYTES = 1024
};

/* Of the stream that has most; the log time of its newest line. */
static uint32_t find_attempts(struct job_state *job, int64_t *newest_ms)
{
	struct stream_state *stream;
	uint32_t most = 0;

	*newest_ms = 0;
	for (size_t i = 0; (stream = job_stream_at(job, i)); i++) {
		const int64_t *starts;
		if (stream_is_system(span_from(stream->name)))
			continue;
		pthread_mutex_lock(&stream->mutex);
		size_t count = stream->extractor ? extractor_attempt_starts(stream->extractor, &starts) : 0;
		most = count > most ? (uint32_t)count : most;
		*newest_ms = stream->last_ms > *newest_ms ? stream->last_ms : *newest_ms;
		pthread_mutex_unlock(&stream->mutex);
	}
	return most;
}

static enum status write_facts(const struct continuity_report *report, const struct continuity_restart *restart,
	struct buf *out, struct error *err)
{
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

static enum status open(struct pipeline *pipeline, struct job_state *job, const struct continuity_report *report,
	const struct continuity_restart *restart, int64_t newest_ms, struct error *err)
{
	struct job_incident note = {.pipeline = pipeline, .job = job};
	AUTO_DONE(buf) facts = BUF_INIT(FACTS_BYTES);

	TRY(write_facts(report, restart, &facts, err));
	note.row.facts = buf_span(&facts);
	note.row.detail = span_from(restart->judged.causes[0]);
	note.row.attempt = restart->attempt;
	note.row.incident = (struct incident){.kind = INCIDENT_RESTART_DIFFERS,
		.severity = SEVERITY_WARNING,
		.state = INCIDENT_OPEN,
		.opened_ordinal = restart->attempt, /* one a restart */
		.opened_ms = newest_ms,
		.is_historic = newest_ms < clock_wall_ms() - HISTORIC_MS};
	fill(&note.row.incident, &restart->judged);
	return job_incident_put(&note, err);
}

/* Another look would say the same. */
static bool is_settled(const struct continuity *c)
{
	return c->overlap_steps >= CONTINUITY_PAIRS || c->after_count >= CONTINUITY_WINDOW ||
	       (c->verdict == CONTINUITY_DIFFERS && c->overlap_steps >= STEPS_MIN);
}

/* One of an earlier restart ends with this one; one of this restart is known already, also when it is over. */
static enum status end_earlier(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	struct job_state *job, uint32_t attempt, bool *is_known, struct error *err)
{
	struct incident_filter filter = {.has_all = true,
		.job_id = job->job_id,
		.state = -1,
		.kind = INCIDENT_RESTART_DIFFERS,
		.cursor = SPAN(""),
		.limit = CONTINUITY_RESTARTS_MAX};
	struct incident_row *rows;
	struct span cursor;
	size_t count;

	*is_known = false;
	TRY(store_read_incidents(reader, arena, &filter, &rows, &count, &cursor, err));
	for (size_t i = 0; i < count; i++) {
		if (rows[i].incident.opened_ordinal == attempt)
			*is_known = true;
		else if (rows[i].incident.state == INCIDENT_OPEN)
			TRY(job_incident_end(pipeline, job, &rows[i], err));
	}
	return OK;
}

/* *is_done: nothing more comes of this restart. */
static enum status look(struct pipeline *pipeline, struct store_reader *reader, struct job_state *job,
	uint32_t attempts, int64_t newest_ms, bool *is_done, struct error *err)
{
	AUTO(arena) arena = arena_new();
	struct continuity_report report;
	struct job_row row;
	bool is_known;

	if (!arena)
		return error_no_memory(err);
	TRY(store_read_job_by_id(reader, arena, job->job_id, &row, err));
	TRY(end_earlier(pipeline, reader, arena, job, attempts, &is_known, err));
	*is_done = is_known;
	if (is_known)
		return OK;
	TRY(continuity_read(pipeline, reader, arena, row.name, RESTARTS_LOOKED_AT, &report, err));
	const struct continuity_restart *last = report.count ? &report.restarts[report.count - 1] : NULL;
	bool goes_on_with_none = attempts == 1 && report.metric.len && !report.count && !report.pending;
	bool is_there = last && last->attempt == attempts;
	*is_done = goes_on_with_none || row.ended_ms || (is_there && is_settled(&last->judged));
	if (!is_there || !*is_done || last->judged.verdict != CONTINUITY_DIFFERS)
		return OK;
	return open(pipeline, job, &report, last, newest_ms, err);
}

static enum status watch(
	struct pipeline *pipeline, struct store_reader *reader, struct job_state *job, struct error *err)
{
	int64_t newest_ms, now_ms = clock_mono_ms();
	uint32_t attempts = find_attempts(job, &newest_ms);
	bool is_done = false;

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
	TRY(look(pipeline, reader, job, attempts, newest_ms, &is_done, err));
	if (is_done)
		job->judged_attempts = attempts;
	return OK;
}

void continuity_watch_run(struct pipeline *pipeline, struct store_reader *reader)
{
	each_job_look(pipeline, reader, "continuity_failed", watch);
}
