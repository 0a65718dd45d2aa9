/*
 * Job: what limits do with log text: looked at by the maintenance thread now and then. Text is
 *      deleted in slices through the writer; nothing else ever is.
 * Ownership: values. Threads: maintenance; the figures in pipeline_figures are anybody's.
 */
#pragma once

#include "store/store.h"

struct pipeline;

struct retention_state {
	int64_t budget_ms, plan_ms, pushes_ms; /* monotonic: when each was looked at last */
};

/* Looks at what is due, and does at most one slice; *has_more: call again soon. */
enum status retention_run(struct pipeline *pipeline, struct retention_state *state, struct store_reader *reader,
	bool *has_more, struct error *err) MUST_CHECK;

/* What the database holds, without pages that are free. */
enum status retention_used_bytes(struct store_reader *reader, uint64_t *used, struct error *err) MUST_CHECK;

/* Before the first look, and before anybody can change the limit: the writer runs already. */
enum status retention_start(struct pipeline *pipeline, struct store_reader *reader, struct error *err) MUST_CHECK;

/*
 * A limit that nobody stated goes along when the disk becomes larger or smaller: half of the difference, and never below what is used, as
 * nothing is deleted for a smaller disk.
 */
enum status retention_follow_disk(struct pipeline *pipeline, uint64_t used, struct error *err) MUST_CHECK;

/* Deletes a slice of settled deliveries that are too old; *has_more is set when it did. */
enum status deliveries_trim(
	struct pipeline *pipeline, struct store_reader *reader, bool *has_more, struct error *err) MUST_CHECK;
/* The same of hashes of bodies that nobody sends again any more. */
enum status pushes_trim(struct pipeline *pipeline, struct retention_state *state, struct store_reader *reader,
	bool *has_more, struct error *err) MUST_CHECK;
