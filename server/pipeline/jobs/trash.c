#include "pipeline/jobs/trash.h"

#include "base/clock.h"
#include "base/json/json_read.h"
#include "base/log.h"
#include "pipeline/commit/resolve.h"
#include "pipeline/jobs/free_name.h"
#include "pipeline/life/pools.h"
#include "state/audit.h"
#include "state/execute.h"
#include "state/pipeline_state.h"
#include "store/goodput.h"
#include "store/run.h"
#include "store/trash.h"

#include <inttypes.h>

enum { DOCUMENT_MAX_BYTES = 4 << 20 };

struct choosing {
	struct pipeline *pipeline;
	const struct trash_choice *choice;
	struct arena *arena;
	struct span name; /* that it got */
};

static enum status find(
	struct choosing *choosing, struct store_reader *reader, struct trashed_job *out, struct error *err)
{
	const struct trash_choice *choice = choosing->choice;

	TRY(store_find_trashed(reader, choosing->arena, choice->job, choice->job_id, out, err));
	return check_team(out->job.team, out->job.name, choice->team, err);
}

/* ---- back ---- */

static enum status rename_document(struct span name, struct job_row *job, struct buf *document, struct error *err)
{
	AUTO(json) json = NULL;

	TRY(json_parse(&json, job->document, err));
	if (!json_set_string(json, "TrainingJobName", name))
		return error_no_memory(err);
	json_print(json, document);
	TRY(buf_status(document, err));
	job->name = name;
	job->document = buf_span(document);
	return OK;
}

static enum status write_restoration(void *context, struct store_tx *tx, struct error *err)
{
	struct choosing *choosing = context;
	AUTO_DONE(buf) document = BUF_INIT(DOCUMENT_MAX_BYTES);
	struct trashed_job trashed = {0};

	TRY(find(choosing, store_tx_reader(tx), &trashed, err));
	struct job_row job = trashed.job;
	/* deleted in this very commit: lines that come behind would be planned on the state that goes with it */
	if (directory_peek_id(choosing->pipeline->directory, job.job_id))
		return error_set(err, ERR_BUSY, "job '%.*s' is being deleted this moment; restore it again",
			SPAN_ARGS(job.name));
	TRY(free_name_find(tx, choosing->arena, job.name, &choosing->name, err));
	if (!span_equal(choosing->name, job.name))
		TRY(rename_document(choosing->name, &job, &document, err));
	TRY(store_restore_job(tx, &job, err));
	TRY(pools_put_job(tx, &job, err));
	TRY(store_check_run(store_tx_reader(tx), choosing->arena, job.name, err)); /* another may go on with it since */
	return store_touch_goodput_before(tx, job.job_id, err);
}

/* Its metrics may have been in the midst of a back-fill. */
static void apply_restoration(void *context)
{
	atomic_store(&((struct choosing *)context)->pipeline->backfill_due, true);
}

enum status pipeline_restore_job(struct pipeline *pipeline, struct arena *arena, const struct trash_choice *choice,
	struct span *name, struct error *err)
{
	struct choosing choosing = {.pipeline = pipeline, .choice = choice, .arena = arena};
	const struct actor *actor = audit_actor(pipeline);
	struct actor renaming = actor ? *actor : (struct actor){0};

	renaming.becomes = &choosing.name;
	audit_act_as(pipeline, actor ? &renaming : NULL);
	enum status status = writer_execute_then(pipeline, write_restoration, apply_restoration, &choosing, err);
	audit_act_as(pipeline, actor);
	*name = choosing.name;
	return status;
}

/* ---- for good ---- */

static enum status write_purge(void *context, struct store_tx *tx, struct error *err)
{
	struct choosing *choosing = context;
	struct trashed_job trashed;
	uint64_t count;

	TRY(find(choosing, store_tx_reader(tx), &trashed, err));
	TRY(store_count_trashed(store_tx_reader(tx), trashed.job.name, &count, err));
	if (!choosing->choice->job_id) /* sent again, as its reply was lost, it meant the job that is gone already */
		return error_set(err, ERR_CONFLICT,
			"no job '%.*s' is there, but %" PRIu64 " in the trash: say which by id= (GET /api/v1/trash)",
			SPAN_ARGS(trashed.job.name), count);
	return store_purge_job(tx, trashed.job.job_id, err);
}

enum status pipeline_purge_job(struct pipeline *pipeline, const struct trash_choice *choice, struct error *err)
{
	AUTO(arena) arena = arena_new();
	struct choosing choosing = {.pipeline = pipeline, .choice = choice, .arena = arena};

	return arena ? writer_execute(pipeline, write_purge, &choosing, err) : error_no_memory(err);
}

/* Somebody may have restored it since. */
static enum status write_end(void *context, struct store_tx *tx, struct error *err)
{
	enum status status = store_purge_job(tx, *(const int64_t *)context, err);

	return status == ERR_NOT_FOUND ? OK : status;
}

static enum status purge_before(struct pipeline *pipeline, struct store_reader *reader, int64_t before_ms,
	const char *reason, bool *has_any, struct error *err)
{
	int64_t job_id;

	TRY(store_oldest_trashed(reader, before_ms, &job_id, err));
	*has_any = job_id != 0;
	if (!job_id)
		return OK;
	TRY(writer_execute(pipeline, write_end, &job_id, err));
	log_line(LOG_INFO, "job_purged", "job_id=%" PRId64 " reason=%s", job_id, reason);
	return OK;
}

enum status trash_run(struct pipeline *pipeline, struct store_reader *reader, bool *has_more, struct error *err)
{
	bool has_any;

	TRY(purge_before(pipeline, reader, clock_wall_ms() - pipeline->options.trash_ms, "age", &has_any, err));
	*has_more = *has_more || has_any;
	return OK;
}

enum status trash_give_room(struct pipeline *pipeline, struct store_reader *reader, bool *has_room, struct error *err)
{
	TRY(store_has_dead(reader, clock_wall_ms(), has_room, err));
	return *has_room ? OK : purge_before(pipeline, reader, INT64_MAX, "budget", has_room, err);
}
