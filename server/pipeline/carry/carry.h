/*
 * Job: whole jobs out of one server and into another, as records of NDJSON (docs/carry.md), in constant memory: an export reads
 *      a page at a time, an import hands what it has to the writer. What an import has of a job is seen once the job is whole.
 * Ownership: new/free; an import that was pushed is counted until the writer is done with it.
 * Threads: an export: a worker, one at a time. An import: the thread that feeds it, one at a time; `done` comes on the writer's.
 */
#pragma once

#include "pipeline/carry/carry_record.h"

struct pipeline;

/* ---- out: one job ---- */
struct carry_export;
/* As the job is now: what arrives afterwards may be in it or not. ERR_NOT_FOUND: there is no such job. */
enum status carry_export_new(struct carry_export **out, struct pipeline *pipeline, struct store_reader *reader,
	struct span job, struct error *err) MUST_CHECK;
void carry_export_free(struct carry_export *export);
/* Appends the next records. No read transaction outlives the call. ERR_GONE, ERR_CONFLICT: the job was deleted, or its metrics
 * were replaced by a back-fill meanwhile. */
enum status carry_export_more(struct carry_export *export, struct store_reader *reader, struct buf *out, bool *is_done,
	struct error *err) MUST_CHECK;

/* ---- in: any number of jobs ---- */
struct carry_import;
struct carry_result {
	uint64_t imported;
	uint64_t skipped; /* there was a job of the name */
	struct span skipped_names; /* the first of them: JSON strings, a comma between */
	struct span
		left_out_jobs; /* past a quota, the first of them: JSON objects with "job" and "why", a comma between */
};
/* team: of the token; "": each job keeps the team that it had. */
enum status carry_import_new(struct carry_import **out, struct pipeline *pipeline, struct span team,
	const struct attachment_limits *limits, struct error *err) MUST_CHECK;
/* A job that is not whole is dropped, whole ones are written. Not while something is at the writer. */
void carry_import_free(struct carry_import *import);
/* One record, a line without its newline; the error names what is wrong with it. */
enum status carry_import_take(struct carry_import *import, struct span line, struct error *err) MUST_CHECK;
/* No more lines: ERR_INVALID when a job is not whole. */
enum status carry_import_end(struct carry_import *import, struct error *err) MUST_CHECK;
/* So much waits to be written that it should be pushed. */
bool carry_import_is_full(const struct carry_import *import);
bool carry_import_has_work(const struct carry_import *import);
size_t carry_import_bytes(const struct carry_import *import); /* that it holds, without what is at the writer */
/* What waits goes to the writer; what is taken meanwhile waits for the next push. done: on the writer thread, quick. */
enum status carry_import_push(struct carry_import *import,
	void (*done)(void *context, enum status status, const struct error *err), void *context,
	struct error *err) MUST_CHECK;
/* Of what is durable; after done. */
void carry_import_result(const struct carry_import *import, struct carry_result *out);

AUTO_TYPE(carry_export)
AUTO_TYPE(carry_import)
