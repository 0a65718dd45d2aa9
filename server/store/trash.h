/*
 * Job: deleted jobs that can be restored. Their rows are none of `jobs`, so that nothing finds them; streams, points and all else that is
 *      kept by a job's number stay where they are.
 * Ownership and threads: as store.h.
 */
#pragma once

#include "store/jobs.h"

struct trashed_job {
	struct job_row job;
	int64_t deleted_ms;
	struct span deleted_by; /* a token's name; "": nobody's */
	uint64_t bytes; /* what is stored of its text and points, and its attachments */
};

/* From `jobs` into the trash. What is due of it is due no more: messages, the rest of an upgrade. What follows from its document for
 * searches goes, and comes back with it. ERR_NOT_FOUND */
enum status store_trash_job(struct store_tx *tx, const struct trashed_job *trashed, struct error *err) MUST_CHECK;
/* Back, under the name and with the document that `job` has. ERR_CONFLICT: the name is taken. */
enum status store_restore_job(struct store_tx *tx, const struct job_row *job, struct error *err) MUST_CHECK;
/* Out of the trash for good, as store_delete_job. ERR_NOT_FOUND */
enum status store_purge_job(struct store_tx *tx, int64_t job_id, struct error *err) MUST_CHECK;

/* The one of that name that was deleted last; job_id not 0: that one, if it has the name. ERR_NOT_FOUND names it. */
enum status store_find_trashed(struct store_reader *reader, struct arena *arena, struct span name, int64_t job_id,
	struct trashed_job *out, struct error *err) MUST_CHECK;
/* ERR_NOT_FOUND, without a text */
enum status store_read_trashed(struct store_reader *reader, struct arena *arena, int64_t job_id,
	struct trashed_job *out, struct error *err) MUST_CHECK;
enum status store_count_trashed(
	struct store_reader *reader, struct span name, uint64_t *count, struct error *err) MUST_CHECK;

/* Who was deleted last comes first, behind a place (INT64_MAX twice: from the first); without documents. */
struct trash_place {
	int64_t deleted_ms, job_id;
};
enum status store_read_trash(struct store_reader *reader, struct arena *arena, const struct trash_place *behind,
	size_t limit, struct trashed_job **out, size_t *count, struct error *err) MUST_CHECK;
/* How many there are, and what they take. */
enum status store_weigh_trash(
	struct store_reader *reader, uint64_t *count, uint64_t *bytes, struct error *err) MUST_CHECK;
/* The one that was deleted first, before a time; 0: none. */
enum status store_oldest_trashed(
	struct store_reader *reader, int64_t before_ms, int64_t *job_id, struct error *err) MUST_CHECK;

/* What is stored of a job's text and points: reads the row of each block and chunk. */
enum status store_weigh_job(struct store_reader *reader, int64_t job_id, uint64_t *bytes, struct error *err) MUST_CHECK;
