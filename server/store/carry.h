/*
 * Job: the verbs that exports and imports of whole jobs need beside those of store.h. A job that is imported has a number and
 *      rows, but no row of its own until it is whole: nobody sees it before.
 * Ownership and threads: as store.h.
 */
#pragma once

#include "store/alerts.h"
#include "store/faults.h"
#include "store/goodput.h"
#include "store/jobs.h"
#include "store/retention.h"
#include "store/sessions.h"
#include "store/streams.h"

/* ---- reading ---- */
/* The stream of the job with the smallest number above `after`; stream_id 0: there is none. */
enum status store_read_stream_after(struct store_reader *reader, struct arena *arena, int64_t job_id, uint32_t after,
	struct stream_row *out, struct error *err) MUST_CHECK;
/* Of one stream, or (0) of all of the job, by its number and by name. */
enum status store_read_sources(struct store_reader *reader, struct arena *arena, int64_t job_id, uint32_t stream_id,
	struct source_row **out, size_t *count, struct error *err) MUST_CHECK;

/* By signature and first line. */
enum status store_read_stream_hits(struct store_reader *reader, struct arena *arena, int64_t job_id, uint32_t stream_id,
	struct signature_hit_row **out, size_t *count, struct error *err) MUST_CHECK;
/* Those that this stream said first, by attempt and step. */
enum status store_read_stream_checkpoints(struct store_reader *reader, struct arena *arena, int64_t job_id,
	uint32_t stream_id, struct checkpoint_row **out, size_t *count, struct error *err) MUST_CHECK;

/* ---- importing ---- */
/* A number for a job that is being imported. ERR_CONFLICT: there is a job of the name. */
enum status store_begin_import(
	struct store_tx *tx, struct span name, int64_t now_ms, int64_t *job_id, struct error *err) MUST_CHECK;
/* The row of a job whose number store_begin_import gave: from now on it is a job as any. ERR_CONFLICT: the name was taken. */
enum status store_end_import(struct store_tx *tx, const struct job_row *row, struct error *err) MUST_CHECK;
/* The rows of an import that came to nothing are taken away by store_sweep_dead. */
enum status store_drop_import(struct store_tx *tx, int64_t job_id, struct error *err) MUST_CHECK;
/* All that were begun and not ended. */
enum status store_drop_imports(struct store_tx *tx, struct error *err) MUST_CHECK;
/* As it was, with its number: nobody is told. */
enum status store_import_incident(struct store_tx *tx, const struct incident_row *row, struct error *err) MUST_CHECK;
enum status store_import_expired(
	struct store_tx *tx, int64_t job_id, const struct expired_text *row, struct error *err) MUST_CHECK;
