/*
 * An offset counts what its sender sent: of one source of the stream, or, without source=, of all that came with an offset and without
 * one. What others write into the stream moves neither. A count is written with the lines, in one transaction, so it can neither be
 * ahead of them nor behind.
 *
 * Most streams have one writer: as long as every line of a stream was counted without a source, that count is the stream's own bytes
 * and has no row. The first line from elsewhere writes the row, of the source "", with what the stream had by then.
 */
#include "pipeline/commit/ingest.h"
#include "pipeline/commit/plan.h"
#include "state/streams/directory.h"
#include "state/pipeline_state.h"

/* *row of the source "": where it stands. */
static enum status find_plain(
	struct plan *plan, struct stream_state *stream, struct source_row *row, bool *has_row, struct error *err)
{
	size_t count;

	*row = (struct source_row){.job_id = stream->job->job_id, .stream_id = stream->stream_id, .source = SPAN("")};
	*has_row = false;
	if (stream->planned_count != COUNT_IS_WHOLE)
		TRY(store_read_source(store_tx_reader(plan->tx), row, has_row, &count, err));
	stream->planned_count = *has_row ? COUNT_HAS_ROW : COUNT_IS_WHOLE;
	if (!*has_row)
		row->next_byte = stream->planned_byte;
	return OK;
}

enum status source_find(
	struct plan *plan, struct ingest *ingest, struct stream_state *stream, uint64_t *at, struct error *err)
{
	struct source_row *row = &ingest->source;
	size_t most = plan->pipeline->options.max_sources_a_stream, count;
	bool is_known;

	*at = stream->planned_byte;
	if (ingest->batch->offset < 0)
		return OK;
	if (!ingest->batch->source.len) {
		TRY(find_plain(plan, stream, row, &is_known, err));
		*at = row->next_byte;
		if (!is_known)
			row->job_id = 0; /* there is nothing to note */
		return OK;
	}
	*row = (struct source_row){
		.job_id = stream->job->job_id, .stream_id = stream->stream_id, .source = ingest->batch->source};
	TRY(store_read_source(store_tx_reader(plan->tx), row, &is_known, &count, err));
	if (!is_known && count >= most)
		return error_set_field(err, ERR_TOO_LARGE, "source",
			"stream '%s' has had %zu sources already (--max-sources)", stream->name, count);
	*at = row->next_byte;
	return OK;
}

enum status source_part(struct plan *plan, const struct ingest *ingest, struct stream_state *stream, struct error *err)
{
	bool is_counted = ingest->batch->offset >= 0 && !ingest->batch->source.len, has_row;
	struct source_row row;

	if (is_counted || stream->planned_count == COUNT_HAS_ROW)
		return OK;
	TRY(find_plain(plan, stream, &row, &has_row, err));
	if (!has_row)
		TRY(store_put_source(plan->tx, &row, err));
	stream->planned_count = COUNT_HAS_ROW;
	return OK;
}

enum status source_note(struct plan *plan, struct ingest *ingest, struct error *err)
{
	if (!ingest->source.job_id)
		return OK;
	ingest->source.next_byte = ingest->result.next_offset;
	return store_put_source(plan->tx, &ingest->source, err);
}
