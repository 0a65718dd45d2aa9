/* Maintenance thread: what is open of a job that has ended is over with it; whoever was told of it is told that, too. */
#include "base/log.h"
#include "model/incident.h"
#include "pipeline/alert/incident_effects.h"
#include "pipeline/alert/incidents.h"
#include "pipeline/alert/stragglers.h"
#include "state/streams/directory.h"
#include "state/execute.h"
#include "state/pipeline_state.h"
#include "store/alerts.h"
#include "store/job_facts.h"
#include "store/jobs.h"

enum { LOOK_MAX = 256 }; /* in one round */

struct ending {
	struct pipeline *pipeline;
	struct arena *arena;
	const struct left_open *left;
	int64_t last_step; /* of a straggler: what the job does behind it is none of its slow steps; INT64_MIN: it stays */
	struct incident_row row;
	struct incident_effects told;
	bool is_ended;
};

static enum status end_one(void *context, struct store_tx *tx, struct error *err)
{
	struct ending *ending = context;
	struct job_row job;

	ending->told = (struct incident_effects){0};
	ending->is_ended = false;
	TRY(store_read_job_by_id(store_tx_reader(tx), ending->arena, ending->left->job_id, &job, err));
	TRY(store_read_incident(store_tx_reader(tx), ending->arena, ending->left->job_id, ending->left->incident_id,
		&ending->row, err));
	struct incident *incident = &ending->row.incident;
	if (!job.ended_ms || incident->state != INCIDENT_OPEN)
		return OK; /* the job goes on, or it is over meanwhile */
	incident->state = INCIDENT_RECOVERED;
	incident->closed_why = INCIDENT_CLOSED_WITH_JOB;
	incident->closed_ms = job.ended_ms > incident->opened_ms ? job.ended_ms : incident->opened_ms;
	if (ending->last_step > incident->last_step)
		incident->last_step = ending->last_step;
	ending->row.detail = SPAN("");
	ending->is_ended = true;
	return incidents_write(ending->pipeline, tx, &ending->row, job.team, &ending->told, err);
}

/* What was acknowledged is extracted, compared and told: else what ended by itself would be over with the job. */
static bool is_read(struct job_state *job)
{
	struct stream_state *stream;
	bool is = true;

	for (size_t i = 0; is && (stream = job_stream_at(job, i)); i++) {
		pthread_mutex_lock(&stream->mutex);
		is = atomic_load(&stream->has_hole) || (stream->extracted_lines >= stream->committed_line &&
							       stream->extracted_points >= stream->committed_point &&
							       !stream->has_paces && !stream->pending_incidents);
		pthread_mutex_unlock(&stream->mutex);
	}
	return is;
}

/* Where nothing was compared since a start of the server it was slow to the end, as far as anybody knows. */
static enum status find_last_step(struct store_reader *reader, struct arena *arena, struct job_state *job,
	const struct left_open *left, int64_t *last_step, struct error *err)
{
	struct incident_row row;
	struct summary_row *rows;
	struct job_counts counts;
	size_t count;

	*last_step = INT64_MIN;
	TRY(store_read_incident(reader, arena, left->job_id, left->incident_id, &row, err));
	if (row.incident.kind != INCIDENT_STRAGGLER || (job && stragglers_slow_to(job, &row, last_step)))
		return OK;
	TRY(store_read_summaries(reader, arena, left->job_id, &counts, &rows, &count, err));
	for (size_t i = 0; i < count; i++)
		if (span_equal(rows[i].metric, row.metric))
			*last_step = rows[i].summary.last_step;
	return OK;
}

static enum status end_of(struct pipeline *pipeline, struct store_reader *reader, struct job_state *job,
	const struct left_open *left, struct error *err)
{
	AUTO(arena) arena = arena_new();
	struct ending ending = {.pipeline = pipeline, .arena = arena, .left = left};

	if (!arena)
		return error_no_memory(err);
	TRY(find_last_step(reader, arena, job, left, &ending.last_step, err));
	TRY(writer_execute(pipeline, end_one, &ending, err));
	if (!ending.is_ended)
		return OK;
	if (job) {
		atomic_store(&job->is_row_dirty, true);
		if (ending.row.incident.kind == INCIDENT_STRAGGLER)
			stragglers_end(job, &ending.row);
	}
	incidents_publish(pipeline, &ending.row, &ending.told);
	return OK;
}

static enum status end(
	struct pipeline *pipeline, struct store_reader *reader, const struct left_open *left, struct error *err)
{
	struct job_state *job =
		directory_find_id(pipeline->directory, left->job_id); /* NULL: all of it was read long ago */
	enum status status = OK;

	if (!job || is_read(job))
		status = end_of(pipeline, reader, job, left, err);
	job_unref(job);
	return status;
}

void incident_ends_run(struct pipeline *pipeline, struct store_reader *reader)
{
	AUTO(arena) arena = arena_new();
	struct left_open *rows;
	struct error err;
	size_t count;

	if (!arena || store_read_left_open(reader, arena, LOOK_MAX, &rows, &count, &err) != OK)
		return; /* the next round tries again */
	for (size_t i = 0; i < count; i++) {
		enum status status = end(pipeline, reader, &rows[i], &err);
		if (status != OK && status != ERR_UNAVAILABLE && status != ERR_NOT_FOUND)
			log_line(LOG_WARNING, "incident_ends_failed", "error=\"%s\"", err.text);
	}
}
