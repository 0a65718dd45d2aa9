/*
 * Job: one group being planned by the writer: what its batches become in the journal, and which states are new. RAM that
 *      others see changes only by plan_publish, after the commit.
 * Ownership: the plan owns new states until it publishes them. Threads: the writer's.
 */
#pragma once

#include "pipeline/commit/ingest.h"
#include "state/streams/directory.h"
#include "state/pipeline_state.h"

struct plan_slice {
	struct stream_state *stream;
	struct definitions *definitions; /* counted */
	struct journal_slice slice; /* its body is known by plan_publish */
	size_t body_at; /* in the record */
	size_t part; /* of its batch */
	struct batch *batch; /* of a slice that is a block: its content is the group's after the commit */
	struct tail_range range;
	uint64_t sent_bytes;
};

struct plan {
	struct pipeline *pipeline;
	struct store_tx *tx;
	struct map *new_jobs; /* name -> job_state */
	struct map *new_streams; /* job id and name -> stream_state */
	struct stream_state *touched;
	struct plan_slice *slices;
	size_t slice_count, slice_cap;
	uint64_t seq;
};

enum status plan_open(
	struct plan *plan, struct pipeline *pipeline, struct store_tx *tx, uint64_t seq, struct error *err) MUST_CHECK;
/* Fills ingest->result; an error is that batch's alone and is in its result too. */
enum status plan_batch(struct plan *plan, struct ingest *ingest, struct error *err) MUST_CHECK;
/* Undoes everything in RAM: the transaction failed. */
void plan_abandon(struct plan *plan);
/* The transaction is on disk: makes everything visible and returns the group for the consumers (NULL: no lines). */
struct group *plan_publish(struct plan *plan, struct buf *plain);

/* A body that its sender sends again is known for so long. */
enum { PUSH_KEPT_MS = 15 * 60 * 1000 };
/* pushes.c: is the part of a body that was sent before, and is in the journal? */
enum status push_is_known(struct plan *plan, const struct ingest *ingest, const struct batch_part *part,
	const struct stream_state *stream, bool *is_known, struct error *err) MUST_CHECK;
/* sources.c: where what the batch's offset counts stands; without an offset, the stream. */
enum status source_find(struct plan *plan, struct ingest *ingest, struct stream_state *stream, uint64_t *at,
	struct error *err) MUST_CHECK;
/* Lines of the batch come into the stream next, which is touched: does its count go apart from the stream's bytes by them? */
enum status source_part(
	struct plan *plan, const struct ingest *ingest, struct stream_state *stream, struct error *err) MUST_CHECK;
/* The last word on a batch: nothing of it fails any more. */
enum status source_note(struct plan *plan, struct ingest *ingest, struct error *err) MUST_CHECK;

/* hosts.c: which machine its slices state that they are of. */
enum status hosts_note(
	struct plan *plan, const struct ingest *ingest, size_t first_slice, struct error *err) MUST_CHECK;
void hosts_publish(struct stream_state *stream);
void hosts_abandon(struct stream_state *stream);

/* The batch's slices, from first_slice on, are planned: their bodies are known from now on. */
enum status push_note(struct plan *plan, const struct ingest *ingest, size_t first_slice, struct error *err) MUST_CHECK;

/* tracked_files.c: how far the files of a tracked run have come with the batch. Of what can fail the last. */
enum status files_note(
	struct plan *plan, const struct ingest *ingest, size_t first_slice, struct error *err) MUST_CHECK;
