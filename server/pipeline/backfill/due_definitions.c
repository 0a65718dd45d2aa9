/* After an upgrade that changed what definitions mean: running jobs go on by a generation of their own, and are back-filled by it. */
#include "base/clock.h"
#include "base/log.h"
#include "pipeline/backfill/backfill.h"
#include "state/execute.h"
#include "state/pipeline_state.h"
#include "store/backfills.h"
#include "store/definitions.h"
#include "store/jobs.h"

struct due {
	struct pipeline *pipeline;
	int64_t job_id;
	int64_t now_ms;
};

/* Those without a step of their own took a count for it. */
static enum status is_changed(struct pipeline *pipeline, struct span text, bool *out, struct error *err)
{
	AUTO(definition_set) set = NULL;
	AUTO(json) json = NULL;

	*out = false;
	if (!text.len)
		return OK;
	TRY(json_parse(&json, text, err));
	TRY(definition_set_new(&set, json, pipeline->presets, err));
	*out = definition_set_is_guided(set);
	return OK;
}

/* One that runs begins anew, by the same definitions. */
static enum status begin(
	struct due *due, struct store_tx *tx, struct arena *arena, const struct job_row *job, struct error *err)
{
	struct store_reader *reader = store_tx_reader(tx);
	struct backfill_row backfill;
	uint32_t generation = job->generation, newest;
	struct span text;
	bool is_due;

	TRY(store_read_backfill(reader, arena, job->job_id, &backfill, err));
	if (backfill.job_id && backfill.state == BACKFILL_RUNNING)
		generation = backfill.generation;
	TRY(store_read_definitions(reader, arena, job->job_id, generation, &text, err));
	enum status status = is_changed(due->pipeline, text, &is_due, err);
	if (status == ERR_MEMORY)
		return status;
	if (status != OK) { /* what is damaged in one job is not to keep the others from theirs */
		log_line(LOG_WARNING, "definitions_damaged", "job=\"%.*s\" error=\"%s\"", SPAN_ARGS(job->name),
			err->text);
		return OK;
	}
	if (!is_due)
		return OK;
	TRY(store_newest_generation(reader, job->job_id, &newest, err));
	newest = newest > job->generation ? newest : job->generation;
	status = backfill_begin(tx, arena, job, newest + 1, due->now_ms, err);
	if (status ==
		ERR_CONFLICT) { /* text is gone: the points that came from it stay, and new ones are of their kind */
		log_line(LOG_WARNING, "definitions_unchanged", "job=\"%.*s\" reason=\"%s\"", SPAN_ARGS(job->name),
			err->text);
		return OK;
	}
	TRY(status);
	return store_put_definitions(tx, job->job_id, newest + 1, text, err);
}

static enum status write_one(void *context, struct store_tx *tx, struct error *err)
{
	struct due *due = context;
	AUTO(arena) arena = arena_new();
	struct job_row job;

	if (!arena)
		return error_no_memory(err);
	enum status status = store_read_job_by_id(store_tx_reader(tx), arena, due->job_id, &job, err);
	if (status == OK)
		status = begin(due, tx, arena, &job, err);
	if (status != OK && status != ERR_NOT_FOUND)
		return status;
	return store_forget_due_definitions(tx, due->job_id, err);
}

enum status due_definitions_begin(struct pipeline *pipeline, struct store_reader *reader, struct error *err)
{
	struct due due = {.pipeline = pipeline, .now_ms = clock_wall_ms()};

	TRY(store_next_due_definitions(reader, &due.job_id, err));
	while (due.job_id) {
		TRY(writer_execute(pipeline, write_one, &due, err));
		TRY(store_next_due_definitions(reader, &due.job_id, err));
	}
	return OK;
}
