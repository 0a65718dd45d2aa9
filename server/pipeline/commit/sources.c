/*
 * Several senders into one stream, or one that begins again at byte 0: each source has a count of its own. It is written with the
 * lines, in one transaction, so it can neither be ahead of them nor behind.
 */
#include "pipeline/commit/ingest.h"
#include "pipeline/commit/plan.h"
#include "state/directory.h"
#include "state/pipeline_state.h"

enum status source_find(
	struct plan *plan, struct ingest *ingest, const struct stream_state *stream, uint64_t *at, struct error *err)
{
	struct source_row *row = &ingest->source;
	size_t most = plan->pipeline->options.max_sources_a_stream, count;
	bool is_known;

	*at = stream->planned_byte;
	if (!ingest->batch->source.len)
		return OK;
	*row = (struct source_row){
		.job_id = stream->job->job_id, .stream_id = stream->stream_id, .source = ingest->batch->source};
	TRY(store_read_source(store_tx_reader(plan->tx), row, &is_known, &count, err));
	if (!is_known && count >= most)
		return error_set_field(err, ERR_TOO_LARGE, "source",
			"stream '%s' has had %zu sources already (--max-sources)", stream->name, count);
	*at = row->next_byte;
	return OK;
}

enum status source_note(struct plan *plan, struct ingest *ingest, struct error *err)
{
	if (!ingest->source.job_id)
		return OK;
	ingest->source.next_byte = ingest->result.next_offset;
	return store_put_source(plan->tx, &ingest->source, err);
}
