/*
 * Job: changes of a job by its users, and what of them a later document keeps.
 * Ownership: the caller's. Threads: workers; they wait for the writer.
 */
#pragma once

#include "base/buf.h"
#include "base/json/json_read.h"
#include "base/json/json_write.h"
#include "store/store.h"

struct pipeline;

/* {"tags", "Tags", "hp", "notes", "labels", "ResourceConfig": {"KeepAlivePeriodInSeconds"}}; ERR_SEMANTIC names the field. */
enum status pipeline_change_job(struct pipeline *pipeline, struct span job, struct span team,
	const struct json *changes, struct error *err) MUST_CHECK;

/* Which settings of `asked` the job states otherwise: "kept": {KEY: what it states}. */
enum status pipeline_write_kept_settings(struct store_reader *reader, struct span job, const struct json *asked,
	struct json_writer *w, struct error *err) MUST_CHECK;
enum status job_change_document(
	struct span old, const struct json *changes, struct buf *out, struct error *err) MUST_CHECK;
enum status job_keep_changes(struct span old, struct span new, struct buf *out, struct error *err) MUST_CHECK;
