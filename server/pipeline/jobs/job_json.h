/*
 * Job: a job's row as the API and the live events show it.
 * Ownership: the caller's. Threads: any.
 */
#pragma once

#include "base/json/json_read.h"
#include "base/json/json_write.h"
#include "store/jobs.h"
#include "store/store.h"

struct pipeline;

/* A row of the jobs list, as the API and the live events show it. */
enum status pipeline_write_job_row(const struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	const struct job_row *row, struct json_writer *w, struct error *err) MUST_CHECK;

/* Whose last step says how far the job is; NULL: none does. */
const struct summary_row *pipeline_find_step(const struct summary_row *rows, size_t count);

/* Into an object that is open, for a table: as a row, but of metrics only those that answer for a role (else the first one) and that by
 * whose steps the job goes, and neither settings nor tags. */
enum status pipeline_write_slim_row(const struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	const struct job_row *row, struct json_writer *w, struct error *err) MUST_CHECK;

/* Into an object that is open: the derived fields alone. */
enum status pipeline_write_derived(const struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	const struct job_row *row, const struct json *document, struct json_writer *w, struct error *err) MUST_CHECK;
