/*
 * Job: a stream whose packed state is damaged, as far as its rows tell: which series it has, and how much of them is sealed. What
 *      consumers knew beside that (attempts, windows of detectors, counts) begins anew, until a back-fill makes it again.
 * Ownership: the view lives in the arena. Threads: any.
 */
#pragma once

#include "state/streams/job_view.h"
#include "store/streams.h"

/* out: as the row says it; why: what is wrong with its state. out->damage says so. */
enum status stream_rebuild_view(struct store_reader *reader, const struct stream_row *row, const struct error *why,
	struct arena *arena, struct stream_view *out, struct error *err) MUST_CHECK;
