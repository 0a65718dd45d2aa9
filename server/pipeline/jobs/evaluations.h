/* Job: scores of a job's checkpoints are written and deleted. Ownership: the caller's. Threads: workers; they wait for the writer. */
#pragma once

#include "store/evaluations.h"

struct pipeline;

struct evaluation_change {
	struct span job, team; /* team: of the token; "": any */
	const struct evaluation *document; /* NULL: the scores of `checkpoint` are deleted */
	struct evaluation_score checkpoint; /* its step and path */
	uint64_t most; /* scores of a job */
	size_t deleted; /* set */
};

/* ERR_NOT_FOUND, ERR_FORBIDDEN; ERR_TOO_LARGE: nothing of the document was written. */
enum status pipeline_change_evaluations(
	struct pipeline *pipeline, struct arena *arena, struct evaluation_change *change, struct error *err) MUST_CHECK;

/* The list of scores of named models, a checked document: replaces. */
enum status pipeline_put_references(struct pipeline *pipeline, struct span document, struct error *err) MUST_CHECK;
/* *out "": nobody has replaced the list that came with the program. */
enum status pipeline_read_references(
	struct store_reader *reader, struct arena *arena, struct span *out, struct error *err) MUST_CHECK;
