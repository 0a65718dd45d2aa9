/*
 * Job: the only place that knows the order: journal, extract, detect, rule, seal, publish. Takes batches and control work
 *      from many threads; one writer commits them in groups; consumers of the journal derive everything else.
 * Ownership: new/free; a batch that was submitted with OK is the pipeline's.
 * Threads: its own: writer, extract x N, publisher, maintenance. Calls below from any thread unless they say otherwise.
 */
#pragma once

#include "model/metrics/batch.h"
#include "pipeline/commit/ingest_result.h"
#include "state/figures.h"
#include "state/options.h"

struct pipeline;

/* Replays the journal (state as before the stop or the crash), then starts the threads. */
enum status pipeline_start(struct pipeline **out, const struct pipeline_options *options, struct error *err) MUST_CHECK;

/* No more batches (ERR_UNAVAILABLE); commits what waits, lets the consumers catch up, seals within deadline_ms. */
void pipeline_drain(struct pipeline *pipeline, int64_t deadline_ms);

/* After the drain. Stops the threads, and waits for each to end. */
void pipeline_end(struct pipeline *pipeline);
/* After an end, or does it. */
void pipeline_free(struct pipeline *pipeline);
/* How long the writer has been at one transaction, or at carrying the write-ahead log over; 0: at none. Until pipeline_free. */
int64_t pipeline_writing_ms(const struct pipeline *pipeline);
/* For how long each of its transactions has failed for want of the database; 0: the last one did not. Until pipeline_free. */
int64_t pipeline_failing_ms(const struct pipeline *pipeline);

/*
 * done is called once, on the writer thread, when the batch is durable or refused: it must be quick and must not call back.
 * ERR_BUSY, ERR_UNAVAILABLE: not taken, done is not called, the batch stays the caller's. A batch that may wait is not taken (ERR_BUSY)
 * while extraction has enough before it, or all of queue_bytes fills up.
 */
enum status pipeline_submit(struct pipeline *pipeline, struct batch *batch,
	void (*done)(void *context, const struct ingest_result *result), void *context, struct error *err) MUST_CHECK;

/* The same for a caller that may wait until the batch is durable or refused: the result's status. Not for I/O threads. */
enum status pipeline_store(
	struct pipeline *pipeline, struct batch **batch, struct ingest_result *result, struct error *err) MUST_CHECK;

/*
 * Whoever fills a batch says what it holds, before and now. True: all of those together hold more than queue_bytes, so it
 * should be submitted as it is.
 */
bool pipeline_note_open(struct pipeline *pipeline, size_t before_bytes, size_t now_bytes);
const struct pipeline_figures *pipeline_figures(const struct pipeline *pipeline);

/* Instead of those of the options, from now on. */
void pipeline_set_limits(struct pipeline *pipeline, uint64_t audit_bytes, uint64_t min_free_bytes);

/* Its file was deleted, replaced or cut under the server: ERR_UNAVAILABLE with the reason, from then on. */
enum status pipeline_database_loss(const struct pipeline *pipeline, struct error *err) MUST_CHECK;
AUTO_TYPE(pipeline)
