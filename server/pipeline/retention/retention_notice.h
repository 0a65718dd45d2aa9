/*
 * Job: incidents that say when the text of a job goes: opened a week before, and over when it has gone or is kept.
 * Ownership: the caller's. Threads: maintenance.
 */
#pragma once

#include "store/retention.h"

struct pipeline;

#define RETENTION_NOTICE_MS (INT64_C(7) * 24 * 60 * 60 * 1000)

/* Says when the job's text goes, unless that is said already. */
enum status retention_notice_open(struct pipeline *pipeline, struct store_reader *reader, const struct expendable *job,
	int64_t due_ms, struct error *err) MUST_CHECK;
/* *since_ms 0: it is not said. */
enum status retention_notice_since(
	struct store_reader *reader, int64_t job_id, int64_t *since_ms, struct error *err) MUST_CHECK;
/* Ends those of jobs without text, of jobs that are pinned, and of these, whose text stays. */
enum status retention_notices_end(struct pipeline *pipeline, struct store_reader *reader, const int64_t *staying_ids,
	size_t count, struct error *err) MUST_CHECK;
