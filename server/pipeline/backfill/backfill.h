/*
 * Job: back-fills: a job's whole stored log extracted again by other definitions, beside live ingest, on a thread of its own.
 *      Each stream gets a shadow: the state of one more consumer, that begins at the first line, and makes series of its own.
 *      Once the shadows of all streams stand where the streams do, one transaction puts them in their place.
 * Ownership: a shadow is the back-fill's until the change, which swaps what is derived between it and its stream.
 * Threads: each verb says whose it is.
 */
#pragma once

#include "base/codec/zstd.h"
#include "state/streams/directory.h"
#include "store/backfills.h"
#include "store/jobs.h"

struct pipeline;

/* ---- definitions.c ---- */
/* The document with these as its MetricDefinitions; without any when they are presets. */
enum status definitions_into_document(
	const struct json *definitions, struct span document, struct buf *out, struct error *err) MUST_CHECK;

/* ---- due_definitions.c ---- */
/* Back-fill thread, first of all. */
enum status due_definitions_begin(struct pipeline *pipeline, struct store_reader *reader, struct error *err) MUST_CHECK;

/* ---- backfill.c ---- */
/* Writer, in a transaction: the job has one from now on. ERR_CONFLICT when it cannot, with the reason. */
enum status backfill_begin(struct store_tx *tx, struct arena *arena, const struct job_row *row, uint32_t generation,
	int64_t now_ms, struct error *err) MUST_CHECK;
void backfill_wake(struct pipeline *pipeline); /* any thread: there may be something to do */
void *backfill_run(void *pipeline); /* the thread */

/* ---- shadow.c: one stream ---- */
struct shadow {
	struct stream_state *stream; /* the live one */
	struct stream_state *state; /* ours; its lock is taken after the live one's */
	uint64_t bytes; /* of text that was looked at */
	uint64_t flushed_bytes; /* of these, when its points were stored last */
	bool is_torn; /* it was left in the midst of the change, or is another one's: to be begun anew */
	bool is_finished; /* its state is in the store, as the stream's row will have it */
};

/* What the shadows of one back-fill share. */
struct backfill {
	struct pipeline *pipeline;
	struct store_reader *reader;
	struct zstd *zstd;
	struct regex_scratch *scratch;
	struct extracted_list found;
	struct buf text;
	struct job_state *job; /* counted */
	struct definitions *definitions; /* counted */
	struct backfill_row row;
	bool has_deliveries; /* of the change */
	struct shadow *shadows;
	size_t count, cap;
	int64_t told_ms; /* when subscribers last heard of it */
};

/* Back-fill thread. Made new, or as it stood before a restart. */
enum status shadow_open(
	struct backfill *backfill, struct stream_state *stream, struct shadow *out, struct error *err) MUST_CHECK;
void shadow_close(struct shadow *shadow);
/* Extracts at most a block of what is sealed; *is_level: there is no more. */
enum status shadow_step(struct backfill *backfill, struct shadow *shadow, bool *is_level, struct error *err) MUST_CHECK;
/* Puts into the store what was made so far: a thousand shadows must not wait with it in memory. */
enum status shadow_settle(struct backfill *backfill, struct shadow *shadow, struct error *err) MUST_CHECK;
/* While the sealer waits: the points that were sent as such are taken over, and the state becomes the one that the stream's
 * row will have. */
enum status shadow_finish(struct backfill *backfill, struct shadow *shadow, struct error *err) MUST_CHECK;
/* While the sealer waits: lets live extraction feed it, too, and gives it what is in the journal until it stands where the
 * stream does. */
enum status shadows_attach(struct backfill *backfill, struct error *err) MUST_CHECK;
void shadow_detach(struct shadow *shadow);
/* Writer, after the change was committed. */
void shadow_swap(struct backfill *backfill, struct shadow *shadow);
/* Writer, in that transaction: what detectors said of its past. */
enum status shadow_incidents(
	struct backfill *backfill, struct shadow *shadow, struct store_tx *tx, struct error *err) MUST_CHECK;
/* The numbers that the series of a stream, or of its shadow, may have. */
struct dead_series shadow_numbers(const struct stream_state *state, int64_t not_before_ms);

/* Into an object that is open. */
void pipeline_write_backfill(const struct backfill_row *row, struct json_writer *w);
