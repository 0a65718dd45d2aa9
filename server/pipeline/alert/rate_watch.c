#include "pipeline/alert/rate_watch.h"

#include "base/json/json_write.h"
#include "model/incident.h"
#include "pipeline/alert/each_job.h"
#include "pipeline/alert/job_incident.h"
#include "read/charts/schedule_read.h"
#include "state/pipeline_state.h"
#include "store/jobs.h"

#include <stdatomic.h>

enum {
	PRINTS_LEAST = 4, /* in a row: a table of the schedule may show two */
	FACTS_BYTES = 4096
};

static enum status write_facts(const struct schedule_report *report, struct buf *out, struct error *err)
{
	struct json_writer w = json_writer_on(out);

	json_put_text(&w, "schedule", lr_shape_name(report->declared.shape));
	json_put_span(&w, "metric", report->metric);
	json_put_span(&w, "peak_from", report->declared.peak_from);
	return buf_status(out, err);
}

static enum status open_incident(
	struct pipeline *pipeline, struct job_state *job, const struct schedule_report *report, struct error *err)
{
	struct job_incident note = {.pipeline = pipeline, .job = job};
	const struct lr_print *first = &job->rate.watch.first;
	AUTO_DONE(buf) facts = BUF_INIT(FACTS_BYTES);

	TRY(write_facts(report, &facts, err));
	note.row.facts = buf_span(&facts);
	note.row.incident =
		job_incident_since(INCIDENT_RATE_DRIFTS, first->step, first->ts_ms, first->observed, first->declared);
	return job_incident_put(&note, err);
}

static enum status look(
	struct pipeline *pipeline, struct store_reader *reader, struct job_state *job, struct error *err)
{
	AUTO(arena) arena = arena_new();
	struct schedule_report report;
	struct incident_row *known;
	struct job_row row;

	if (!arena)
		return error_no_memory(err);
	TRY(store_read_job_by_id(reader, arena, job->job_id, &row, err));
	if (row.ended_ms)
		return OK;
	TRY(schedule_go_on(pipeline, reader, arena, row.name, &job->rate, &report, err));
	const struct lr_watch *watch = &job->rate.watch;
	if (watch->differing < PRINTS_LEAST && watch->kept < PRINTS_LEAST)
		return OK;
	TRY(job_incident_find_open(reader, arena, job->job_id, INCIDENT_RATE_DRIFTS, &known, err));
	if (known)
		return watch->kept ? job_incident_end(pipeline, job, known, err) : OK;
	return watch->differing ? open_incident(pipeline, job, &report, err) : OK;
}

static enum status watch(
	struct pipeline *pipeline, struct store_reader *reader, struct job_state *job, struct error *err)
{
	return each_job_is_due(job, &job->rate_look) ? look(pipeline, reader, job, err) : OK;
}

void rate_watch_run(struct pipeline *pipeline, struct store_reader *reader)
{
	each_job_look(pipeline, reader, "rate_watch_failed", watch);
}
