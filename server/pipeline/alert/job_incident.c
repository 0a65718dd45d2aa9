#include "pipeline/alert/job_incident.h"

#include "base/clock.h"
#include "model/incident.h"
#include "pipeline/alert/incidents.h"
#include "state/control.h"
#include "state/execute.h"
#include "state/pipeline_state.h"

static enum status write_note(void *context, struct store_tx *tx, struct error *err)
{
	struct job_incident *note = context;
	bool is_gone;

	note->told = (struct incident_effects){0};
	TRY(control_check_job_gone(note->pipeline, tx, note->job, &is_gone, err));
	return is_gone ? OK
		       : incidents_write(note->pipeline, tx, &note->row, span_from(note->job->team), &note->told, err);
}

struct incident job_incident_since(enum incident_kind kind, int64_t step, int64_t at_ms, double value, double expected)
{
	return (struct incident){.kind = kind,
		.severity = SEVERITY_WARNING,
		.state = INCIDENT_OPEN,
		.opened_ordinal = (uint64_t)step,
		.opened_ms = at_ms,
		.first_step = step,
		.last_step = step,
		.opened_step = step,
		.worst_step = step,
		.value = value,
		.worst = value,
		.expected = expected,
		.is_historic = at_ms < clock_wall_ms() - HISTORIC_MS};
}

enum status job_incident_put(struct job_incident *note, struct error *err)
{
	note->row.job_id = note->job->job_id;
	note->row.job = span_from(note->job->name);
	note->row.metric = note->row.stream = SPAN("");
	note->row.incident.line = NO_LINE;
	TRY(writer_execute(note->pipeline, write_note, note, err));
	atomic_store(&note->job->is_row_dirty, true);
	incidents_publish(note->pipeline, &note->row, &note->told);
	return OK;
}

enum status job_incident_find_open(struct store_reader *reader, struct arena *arena, int64_t job_id,
	enum incident_kind kind, struct incident_row **out, struct error *err)
{
	struct incident_filter filter = {
		.job_id = job_id, .state = INCIDENT_OPEN, .kind = (int)kind, .cursor = SPAN(""), .limit = 1};
	struct span cursor;
	size_t count;

	TRY(store_read_incidents(reader, arena, &filter, out, &count, &cursor, err));
	if (!count)
		*out = NULL;
	return OK;
}

enum status job_incident_end(
	struct pipeline *pipeline, struct job_state *job, const struct incident_row *open, struct error *err)
{
	struct job_incident note = {.pipeline = pipeline, .job = job, .row = *open};

	note.row.incident.state = INCIDENT_RECOVERED;
	note.row.incident.closed_ms = clock_wall_ms();
	note.row.detail = SPAN("");
	return job_incident_put(&note, err);
}
