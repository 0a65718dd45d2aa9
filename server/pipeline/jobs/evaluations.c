#include "pipeline/jobs/evaluations.h"

#include "pipeline/commit/resolve.h"
#include "state/execute.h"
#include "store/jobs.h"
#include "store/tokens.h"

#define REFERENCES_KEY "evaluation_references"

struct changing {
	struct evaluation_change *change;
	struct arena *arena;
};

static enum status write_scores(
	struct store_tx *tx, int64_t job_id, const struct evaluation_change *change, struct error *err)
{
	const struct evaluation *document = change->document;
	uint64_t count;

	for (size_t i = 0; i < document->count; i++)
		TRY(store_put_evaluation(tx, job_id, &document->scores[i], err));
	TRY(store_count_evaluations(store_tx_reader(tx), job_id, &count, err));
	if (count <= change->most)
		return store_mark_evaluations(tx, job_id, err);
	return error_set(err, ERR_TOO_LARGE,
		"with these the job has %llu scores, more than %llu (--max-evaluations); delete a checkpoint's that nobody needs",
		(unsigned long long)count, (unsigned long long)change->most);
}

static enum status write_change(void *context, struct store_tx *tx, struct error *err)
{
	struct changing *c = context;
	struct evaluation_change *change = c->change;
	struct job_row job;

	TRY(store_read_job(store_tx_reader(tx), c->arena, change->job, &job, err));
	TRY(check_team(job.team, job.name, change->team, err));
	if (change->document)
		return write_scores(tx, job.job_id, change, err);
	TRY(store_delete_evaluations(tx, job.job_id, &change->checkpoint, &change->deleted, err));
	return store_mark_evaluations(tx, job.job_id, err);
}

enum status pipeline_change_evaluations(
	struct pipeline *pipeline, struct arena *arena, struct evaluation_change *change, struct error *err)
{
	struct changing c = {.change = change, .arena = arena};

	return writer_execute(pipeline, write_change, &c, err);
}

static enum status write_references(void *context, struct store_tx *tx, struct error *err)
{
	return store_put_setting(tx, REFERENCES_KEY, *(const struct span *)context, err);
}

enum status pipeline_put_references(struct pipeline *pipeline, struct span document, struct error *err)
{
	return writer_execute(pipeline, write_references, &document, err);
}

enum status pipeline_read_references(
	struct store_reader *reader, struct arena *arena, struct span *out, struct error *err)
{
	return store_read_setting(reader, arena, REFERENCES_KEY, out, err);
}
