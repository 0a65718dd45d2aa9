/*
 * Job: what each job's row and metrics say of its points: counts, lowest, highest, last. It is worked out from the streams in RAM,
 *      and written for many jobs in one transaction.
 * Threads: maintenance alone. Errors: are logged, and the job's turn comes again.
 */
#pragma once

#include "state/pipeline_state.h"

/* Writes those of each job that changed. *TRIED_SEQ: up to where they have been tried; as it was where none could be.
 * rank_until_ms: monotonic; before it, and for a moment in any case, there is time to rank them. True: jobs wait for the next flush, as
 * there was none. */
bool summaries_flush(
	struct pipeline *pipeline, struct store_reader *reader, int64_t rank_until_ms, uint64_t *tried_seq);

/* Sums those series of the stream anew that hold points which were made again since (superseded ones). */
void summaries_mend(struct pipeline *pipeline, struct store_reader *reader, struct stream_state *stream);
