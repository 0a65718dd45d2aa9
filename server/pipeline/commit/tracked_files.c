/*
 * Files that a tracker's client sends line by line: how far each has come is written with the lines, in one transaction. Their reader knew
 * where they stood; where that has changed meanwhile (the same request came twice at once) nothing of the batch is stored, and the client
 * sends it again.
 */
#include "pipeline/commit/ingest.h"
#include "pipeline/commit/plan.h"
#include "state/streams/directory.h"
#include "store/tracked_runs.h"

/* Its lines went into a job that was made by them: the run's was deleted. */
static enum status check_run(struct plan *plan, const struct batch *batch, size_t first_slice, struct error *err)
{
	bool is_there;

	TRY(store_is_tracked_run(store_tx_reader(plan->tx), batch->files_job_id, &is_there, err));
	for (size_t i = first_slice; i < plan->slice_count; i++)
		is_there = is_there && plan->slices[i].slice.job_id == batch->files_job_id;
	return is_there ? OK : error_set(err, ERR_NOT_FOUND, "the run was deleted");
}

static enum status put_file(struct plan *plan, const struct batch *batch, const struct batch_file *file,
	struct arena *arena, struct error *err)
{
	const struct tracked_file_row row = {.job_id = batch->files_job_id,
		.name = file->name,
		.origin = file->origin,
		.next_line = file->next_line,
		.content = file->content};
	struct tracked_file_row known;

	if (!file->is_unchecked) {
		TRY(store_read_tracked_file(store_tx_reader(plan->tx), arena, row.job_id, row.name, &known, err));
		if (known.next_line != file->known_line || known.origin != file->known_origin) {
			error_set(err, ERR_BUSY, "'%.*s' has come further meanwhile; send it again",
				SPAN_ARGS(file->name));
			err->retry_after_s = 1;
			return ERR_BUSY;
		}
	}
	return store_put_tracked_file(plan->tx, &row, err);
}

static enum status put_files(struct plan *plan, const struct batch *batch, size_t first_slice, struct error *err)
{
	AUTO(arena) arena = arena_new();

	if (!arena)
		return error_no_memory(err);
	TRY(check_run(plan, batch, first_slice, err));
	for (size_t i = 0; i < batch->file_count; i++)
		TRY(put_file(plan, batch, &batch->files[i], arena, err));
	return OK;
}

enum status files_note(struct plan *plan, const struct ingest *ingest, size_t first_slice, struct error *err)
{
	const struct batch *batch = ingest->batch;

	if (!batch->file_count)
		return OK;
	TRY(store_tx_savepoint(plan->tx, err));
	enum status status = put_files(plan, batch, first_slice, err);
	if (status == OK)
		return store_tx_release(plan->tx, err);
	store_tx_undo(plan->tx);
	return status;
}
