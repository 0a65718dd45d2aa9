/*
 * Bodies that their senders send again until they are answered (Loki's, OTLP's) are known by a hash of all that they hold for a
 * stream. It is written with the lines, in one transaction: there is no moment at which one is there without the other.
 */
#include "pipeline/commit/ingest.h"
#include "pipeline/commit/plan.h"
#include "state/streams/directory.h"
#include "store/pushes.h"

static struct push_row row_of(
	const struct ingest *ingest, const struct batch_part *part, const struct stream_state *stream)
{
	return (struct push_row){.job_id = stream->job->job_id,
		.stream_id = stream->stream_id,
		.hash = part->push_hash,
		.seen_ms = ingest->batch->arrival_ms + part->push_kept_ms};
}

enum status push_is_known(struct plan *plan, const struct ingest *ingest, const struct batch_part *part,
	const struct stream_state *stream, bool *is_known, struct error *err)
{
	struct push_row row = row_of(ingest, part, stream);

	*is_known = false;
	return part->is_push
		       ? store_is_push_known(plan->tx, &row, ingest->batch->arrival_ms - PUSH_KEPT_MS, is_known, err)
		       : OK;
}

static enum status put_pushes(struct plan *plan, const struct ingest *ingest, size_t first_slice, struct error *err)
{
	for (size_t i = first_slice; i < plan->slice_count; i++) {
		const struct plan_slice *slice = &plan->slices[i];
		const struct batch_part *part = &ingest->batch->parts[slice->part];
		struct push_row row = row_of(ingest, part, slice->stream);
		if (part->is_push)
			TRY(store_put_push(plan->tx, &row, err));
	}
	return OK;
}

/* All of the batch's or none: a hash that stays where the lines did not would make the next try a duplicate. */
enum status push_note(struct plan *plan, const struct ingest *ingest, size_t first_slice, struct error *err)
{
	bool has_push = false;

	for (size_t i = 0; i < ingest->batch->part_count; i++)
		has_push = has_push || ingest->batch->parts[i].is_push;
	if (!has_push)
		return OK;
	TRY(store_tx_savepoint(plan->tx, err));
	enum status status = put_pushes(plan, ingest, first_slice, err);
	if (status == OK)
		return store_tx_release(plan->tx, err);
	store_tx_undo(plan->tx);
	return status;
}
