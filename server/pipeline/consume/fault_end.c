/* When what lines said outright is over. */
#include "base/clock.h"
#include "base/log.h"
#include "pipeline/alert/incident_rename.h"
#include "pipeline/alert/incidents.h"
#include "pipeline/consume/signs.h"
#include "read/node_ledger.h"
#include "state/execute.h"
#include "state/pipeline_state.h"
#include "store/faults.h"
#include "store/jobs.h"

enum { ENDED_MAX = 100 /* a round */ };

struct ending {
	struct pipeline *pipeline;
	struct arena *arena;
	enum incident_kind kind;
	const struct quiet_incident *quiet; /* NULL: it was cleared */
	const struct cleared_incident *cleared;
	struct incident_row row;
	struct incident_effects told;
	bool is_over;
};

static enum status end(struct ending *ending, struct store_tx *tx, enum incident_close why, int64_t at_ms,
	struct span team, struct error *err)
{
	ending->row.incident.state = INCIDENT_RECOVERED;
	ending->row.incident.closed_ms = at_ms;
	ending->row.incident.closed_why = why;
	ending->row.detail = SPAN("");
	ending->is_over = true;
	return incidents_write(ending->pipeline, tx, &ending->row, team, &ending->told, err);
}

/* Until when what was said last stands: against a machine as long as the job runs on it, and no longer than it is to be drained. */
static int64_t stands_ms(enum incident_kind kind, const struct job_row *job)
{
	return kind == INCIDENT_NODE_SUSPECT && !job->ended_ms ? node_ledger_drain_ms() : SIGN_QUIET_MS;
}

static enum status end_one(void *context, struct store_tx *tx, struct error *err)
{
	struct ending *ending = context;
	int64_t job_id = ending->quiet ? ending->quiet->job_id : ending->cleared->job_id;
	uint32_t id = ending->quiet ? ending->quiet->incident_id : ending->cleared->incident_id;
	AUTO(json) facts = NULL;
	struct job_row job;

	ending->told = (struct incident_effects){0};
	ending->is_over = false;
	TRY(store_read_job_by_id(store_tx_reader(tx), ending->arena, job_id, &job, err));
	TRY(store_read_incident(store_tx_reader(tx), ending->arena, job_id, id, &ending->row, err));
	if (ending->row.incident.state != INCIDENT_OPEN)
		return OK;
	if (ending->quiet)
		return end(ending, tx, INCIDENT_CLOSED_ITSELF, ending->quiet->last_ms + stands_ms(ending->kind, &job),
			job.team, err);
	if (!span_equal(incident_read_machine(&ending->row, &facts), ending->cleared->host))
		return OK; /* another machine's, of the same millisecond */
	return end(ending, tx, INCIDENT_CLOSED_CLEARED, clock_wall_ms(), job.team, err);
}

static enum status run(struct ending *ending, struct error *err)
{
	enum status status = writer_execute(ending->pipeline, end_one, ending, err);

	if (status == ERR_NOT_FOUND) /* the job was deleted meanwhile */
		return OK;
	if (status == OK && ending->is_over)
		incidents_publish(ending->pipeline, &ending->row, &ending->told);
	return status;
}

static enum status end_quiet(
	struct pipeline *pipeline, struct store_reader *reader, enum incident_kind kind, struct error *err)
{
	AUTO(arena) arena = arena_new();
	struct ending ending = {.pipeline = pipeline, .arena = arena, .kind = kind};
	const int64_t now_ms = clock_wall_ms();
	struct quiet_before before = {now_ms - SIGN_QUIET_MS, now_ms - stands_ms(kind, &(struct job_row){0})};
	struct quiet_incident *rows;
	size_t count;

	if (!arena)
		return error_no_memory(err);
	TRY(store_read_quiet(reader, arena, kind, before, ENDED_MAX, &rows, &count, err));
	for (size_t i = 0; i < count; i++) {
		ending.quiet = &rows[i];
		TRY(run(&ending, err));
	}
	return OK;
}

static enum status end_cleared(struct pipeline *pipeline, struct store_reader *reader, struct error *err)
{
	AUTO(arena) arena = arena_new();
	struct ending ending = {.pipeline = pipeline, .arena = arena};
	struct cleared_incident *rows;
	size_t count;

	if (!arena)
		return error_no_memory(err);
	TRY(store_read_cleared_incidents(reader, arena, ENDED_MAX, &rows, &count, err));
	for (size_t i = 0; i < count; i++) {
		ending.cleared = &rows[i];
		TRY(run(&ending, err));
	}
	return OK;
}

void faults_run(struct pipeline *pipeline, struct store_reader *reader)
{
	struct error err;
	enum status status = end_cleared(pipeline, reader, &err);

	if (status == OK)
		status = end_quiet(pipeline, reader, INCIDENT_LOG_SIGNATURE, &err);
	if (status == OK)
		status = end_quiet(pipeline, reader, INCIDENT_NODE_SUSPECT, &err);
	if (status != OK && status != ERR_UNAVAILABLE)
		log_line(LOG_WARNING, "faults_failed", "error=\"%s\"", err.text);
}
