/*
 * Job: what an import hands to the writer: rows of jobs in their order, written in one transaction; and the jobs that they are of.
 * Ownership: a batch owns its rows; a job is its import's until it is written whole, then the batch's that ends it.
 * Threads: made by the thread that feeds the import, then the writer's.
 */
#pragma once

#include "model/incident.h"
#include "pipeline/carry/carry.h"
#include "state/pipeline_state.h"
#include "store/alerts.h"
#include "store/blocks.h"
#include "store/evaluations.h"
#include "store/gpu_traces.h"
#include "store/notes.h"
#include "store/points.h"
#include "store/streams.h"

/* A job on its way in. */
struct carried {
	struct arena *arena;
	struct carry_job job;
	struct map *streams; /* name -> its place in `names`, from 1 */
	/* Writer: within the transaction, and as of the last one that was durable. */
	int64_t job_id, durable_id; /* 0: not begun */
	int64_t attachment_id, durable_attachment_id; /* whose parts come */
	bool is_skipped, is_durably_skipped; /* there is a job of the name, or it is left out */
	struct span left_out; /* why the import leaves it out; "": it does not */
	bool is_left_out; /* the writer: and it was not skipped already */
};

enum carry_op_kind {
	OP_BEGIN,
	OP_STREAM,
	OP_BLOCK,
	OP_CHUNK,
	OP_SERIES,
	OP_INCIDENT,
	OP_NOTE,
	OP_EVALUATION,
	OP_TRACE,
	OP_ATTACHMENT,
	OP_PART,
	OP_LEAVE_OUT,
	OP_END
};

struct carry_file_part {
	struct span path, packed;
	uint64_t number;
	bool is_last;
};

struct carry_op {
	struct carry_op *next;
	enum carry_op_kind kind;
	struct carried *job;
	union {
		struct carry_stream stream;
		struct block_row block;
		struct chunk_row chunk;
		struct series_row series;
		struct incident_row incident;
		struct note_row note;
		struct evaluation_score evaluation;
		struct gpu_trace_row trace;
		struct attachment_row attachment;
		struct carry_file_part part;
	};
};

struct carry_batch {
	struct control control;
	struct pipeline *pipeline;
	struct arena *arena;
	struct carry_op *first, *last;
	struct error refusal; /* of a job whose rows contradict each other, which alone is dropped; status OK: none */
	size_t jobs; /* that it ends */
	void (*done)(void *context, struct carry_batch *batch, enum status status, const struct error *err);
	void *context;
};

struct carry_batch *carry_batch_new(struct pipeline *pipeline) __attribute__((warn_unused_result));
/* With the jobs that it ends. */
void carry_batch_free(struct carry_batch *batch);
/* NULL: out of memory. */
struct carry_op *carry_batch_add(struct carry_batch *batch, enum carry_op_kind kind, struct carried *job);
/* Without those of a job that will not be whole. */
void carry_batch_remove(struct carry_batch *batch, const struct carried *job);
/* To the writer; done: on its thread, and the batch is then done's to free. Without done it is freed. */
enum status carry_batch_push(struct carry_batch *batch,
	void (*done)(void *context, struct carry_batch *batch, enum status status, const struct error *err),
	void *context, struct error *err) MUST_CHECK;

void carried_free(struct carried *job);
/* What the writer has of a job that will not be whole goes away. */
void carried_drop(struct pipeline *pipeline, const struct carried *job);

AUTO_TYPE(carry_batch)
AUTO_TYPE(carried)
