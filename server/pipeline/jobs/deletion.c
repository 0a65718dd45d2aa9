/* Deletions: at once, or into the trash, when all that was acknowledged of the job is in blocks and chunks. */
#include "pipeline/jobs/deletion.h"

#include "base/clock.h"
#include "model/incident.h"
#include "pipeline/alert/incident_effects.h"
#include "pipeline/alert/incidents.h"
#include "pipeline/alert/notices.h"
#include "pipeline/commit/resolve.h"
#include "pipeline/jobs/settle.h"
#include "pipeline/life/pools.h"
#include "state/audit.h"
#include "state/execute.h"
#include "state/patience.h"
#include "state/pipeline_state.h"
#include "state/streams/directory.h"
#include "store/alerts.h"
#include "store/goodput.h"
#include "store/job_facts.h"
#include "store/trash.h"

struct deletion {
	struct pipeline *pipeline;
	const struct job_deletion *asked;
	bool is_for_good;
	struct span by; /* who asked: a token's name */
	uint64_t bytes; /* of what is stored */
	int64_t job_id;
	bool has_deliveries;
};

enum { SILENT_MS = 10 * 60 * 1000 };

/* Also after a restart, when RAM knows nothing of the job. Times of log lines may be anything: those of the future say nothing. */
static enum status was_heard(const struct deletion *deletion, struct store_reader *reader, struct arena *arena,
	const struct job_row *row, bool *is, struct error *err)
{
	AUTO(job_state) job = directory_find(deletion->pipeline->directory, row->name);
	int64_t now_ms = deletion->asked->now_ms;
	struct job_counts counts;
	struct summary_row *rows;
	size_t count;

	TRY(store_read_summaries(reader, arena, row->job_id, &counts, &rows, &count, err));
	int64_t times[] = {row->modified_ms, counts.last_line_ms, job ? atomic_load(&job->touched_ms) : 0};
	*is = false;
	for (size_t i = 0; i < sizeof times / sizeof *times; i++)
		*is |= times[i] <= now_ms && now_ms - times[i] < SILENT_MS;
	return OK;
}

/* Whoever was told of something open is told that it is over with the job. */
static enum status end_incidents(struct deletion *deletion, struct store_tx *tx, struct arena *arena,
	const struct job_row *job, struct error *err)
{
	struct incident_row *rows;
	size_t count;

	deletion->has_deliveries = false; /* after a commit that failed this runs again */
	TRY(notices_read_open(tx, arena, job->job_id, &rows, &count, err));
	for (size_t i = 0; i < count; i++) {
		struct incident_effects told = {0};
		rows[i].incident.state = INCIDENT_RECOVERED;
		rows[i].incident.closed_why = INCIDENT_CLOSED_WITH_DELETION;
		rows[i].incident.closed_ms = deletion->asked->now_ms;
		TRY(incidents_write(deletion->pipeline, tx, &rows[i], job->team, &told, err));
		deletion->has_deliveries |= told.has_deliveries;
	}
	return OK;
}

/* May it be deleted now? */
static enum status read_deletable(const struct deletion *deletion, struct store_reader *reader, struct arena *arena,
	struct job_row *row, struct error *err)
{
	bool is_heard;

	TRY(store_read_job(reader, arena, deletion->asked->job, row, err));
	TRY(check_team(row->team, row->name, deletion->asked->team, err));
	TRY(was_heard(deletion, reader, arena, row, &is_heard, err));
	if (row->ended_ms || !is_heard)
		return OK;
	return error_set(err, ERR_CONFLICT,
		"job '%.*s' is running; stop it first, or wait until it was silent for ten minutes",
		SPAN_ARGS(row->name));
}

static enum status put_away(
	const struct deletion *deletion, struct store_tx *tx, const struct job_row *row, struct error *err)
{
	const struct trashed_job trashed = {.job = *row,
		.deleted_ms = deletion->asked->now_ms,
		.deleted_by = deletion->by,
		.bytes = deletion->bytes};

	TRY(settle_check(deletion->pipeline, row, err));
	return store_trash_job(tx, &trashed, err);
}

static enum status write_deletion(void *context, struct store_tx *tx, struct error *err)
{
	struct deletion *deletion = context;
	AUTO(arena) arena = arena_new();
	struct job_row row;

	if (!arena)
		return error_no_memory(err);
	TRY(read_deletable(deletion, store_tx_reader(tx), arena, &row, err));
	deletion->job_id = row.job_id;
	deletion->pipeline->deletion_round = deletion->pipeline->round;
	TRY(end_incidents(deletion, tx, arena, &row, err));
	TRY(pools_leave(tx, row.job_id, err));
	TRY(store_touch_goodput_before(tx, row.job_id, err));
	return deletion->is_for_good ? store_delete_job(tx, row.job_id, err) : put_away(deletion, tx, &row, err);
}

static void apply_deletion(void *context)
{
	struct deletion *deletion = context;
	struct job_state *job = directory_peek_id(deletion->pipeline->directory, deletion->job_id);

	if (job) {
		atomic_store(&job->is_deleted, true);
		directory_remove(deletion->pipeline->directory, job);
	}
	if (deletion->has_deliveries && deletion->pipeline->options.deliveries_due)
		deletion->pipeline->options.deliveries_due(deletion->pipeline->options.context);
}

/* Lines that came meanwhile are to be put away first. */
static enum status try_to_trash(
	struct deletion *deletion, struct store_reader *reader, int64_t until_ms, struct error *err)
{
	struct job_state *job = NULL;
	enum status status = settle_begin(deletion->pipeline, deletion->asked->job, until_ms, &job, err);

	if (status == OK)
		status = store_weigh_job(reader, deletion->job_id, &deletion->bytes, err);
	if (status == OK)
		status = writer_execute_then(deletion->pipeline, write_deletion, apply_deletion, deletion, err);
	settle_end(deletion->pipeline, job);
	return status;
}

static enum status trash(struct deletion *deletion, struct store_reader *reader, struct error *err)
{
	int64_t until_ms = clock_mono_ms() + patience_begin(deletion->pipeline);
	enum status status;

	do
		status = try_to_trash(deletion, reader, until_ms, err);
	while (status == ERR_BUSY && clock_mono_ms() < until_ms);
	patience_end(deletion->pipeline);
	return status;
}

enum status pipeline_delete_job(
	struct pipeline *pipeline, struct store_reader *reader, const struct job_deletion *asked, struct error *err)
{
	const struct actor *actor = audit_actor(pipeline);
	AUTO(arena) arena = arena_new();
	struct deletion deletion = {.pipeline = pipeline,
		.asked = asked,
		.is_for_good = asked->is_for_good || !pipeline->options.trash_ms,
		.by = actor ? actor->token : SPAN("")};
	struct job_row row;

	if (!arena)
		return error_no_memory(err);
	if (deletion.is_for_good)
		return writer_execute_then(pipeline, write_deletion, apply_deletion, &deletion, err);
	TRY(read_deletable(&deletion, reader, arena, &row, err));
	deletion.job_id = row.job_id;
	return trash(&deletion, reader, err);
}
