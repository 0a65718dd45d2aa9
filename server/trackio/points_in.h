/*
 * Job: an entry of bulk_log or bulk_log_system as points of a batch: a part of its own, so that it is known by its log_id in whatever
 *      company it comes again. Pure.
 * Ownership: names are copied into the batch. Threads: one at a time.
 */
#pragma once

#include "model/metrics/batch.h"
#include "trackio/entries.h"

struct points_in {
	struct batch *batch;
	struct span job, stream;
	bool begins; /* the entry is the first of a process that goes on with the run */
	bool is_system; /* names and values as sm-ship measures a machine */
	int64_t now_ms; /* of an entry without a time */
	size_t max_series; /* of one entry: what is beyond is left out */
	size_t left_out; /* values that are no numbers, or have no name that a metric may have */
};
enum status points_in_add(struct points_in *in, const struct trackio_entry *entry, struct error *err) MUST_CHECK;

/* By its log_id the part is known when it comes again. */
void points_in_mark(struct batch_part *part, struct span log_id);
