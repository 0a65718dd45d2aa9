/*
 * Job: a stream of an import: its lines are packed into blocks, its points into chunks, and both are counted against its
 *      record. And what an import holds, for its two files alone: jobs, incidents and batches are carry_import.c's.
 * Errors: name the field of the record. Threads: the one that has the import.
 */
#pragma once

#include "base/crypto.h"
#include "pipeline/carry/carry.h"
#include "pipeline/carry/carry_batch.h"
#include "pipeline/carry/carry_record.h"
#include "state/pipeline_state.h"
#include "state/streams/job_view.h"
#include "store/pack/chunk.h"

/* The job's attachments so far, and the one that came last. */
struct carry_files {
	uint64_t bytes; /* of all */
	struct buf path; /* of the last one */
	struct buf content; /* of it so far: its checksum is of all */
	uint64_t left; /* bytes that it lacks */
	uint64_t part;
	char sha256[2 * SHA256_BYTES], hex[2 * SHA256_BYTES + 1];
};

struct carry_import {
	struct pipeline *pipeline;
	char *team;
	struct attachment_limits limits;
	struct carry_files files;
	struct carry_batch *batch; /* what waits to be pushed; NULL: nothing */
	bool has_failed; /* a batch could not be written: none of the later ones may be */
	struct zstd *zstd;
	/* the job that is being read */
	struct carried *job; /* NULL: between jobs */
	struct job_state *shell; /* of it, for what needs one */
	struct carry_counts counts;
	bool has_incidents; /* or notes, scores, attachments: no stream may follow */
	/* its stream */
	struct arena *stream_arena; /* NULL: there is none yet */
	struct carry_stream stream;
	struct stream_view view;
	uint64_t *points; /* of each series of the view, so far */
	uint64_t next_line;
	/* lines for the next block */
	struct arena *text;
	struct line *lines;
	size_t line_count, line_cap, line_bytes;
	/* points for the next chunk */
	struct point chunk[CHUNK_MAX_POINTS];
	size_t chunk_count;
	size_t chunk_series;
	/* done */
	struct carry_result result;
	struct buf skipped, left_out;
	void (*done)(void *context, enum status status, const struct error *err);
	void *done_context;
};

/* An operation of the batch that is being made; *OUT is the batch's. */
enum status carry_import_add_op(
	struct carry_import *import, enum carry_op_kind kind, struct carry_op **out, struct error *err);

/* SPAN is ARENA's from here on; false: no memory. */
bool carry_import_copy(struct arena *arena, struct span *span);

/* Begins a stream of the job that is being read; ARENA, which the record lies in, is the import's also after an error. */
enum status carry_import_take_stream(
	struct carry_import *import, struct arena *arena, const struct carry_record *record, struct error *err);
enum status carry_import_take_lines(struct carry_import *import, const struct carry_lines *lines, struct error *err);
enum status carry_import_take_points(struct carry_import *import, const struct carry_points *points, struct error *err);

/* Checks that all of its lines and points came, and writes what waits. No stream: nothing to do. */
enum status carry_import_finish_stream(struct carry_import *import, struct error *err);
void carry_import_forget_stream(struct carry_import *import);
