/*
 * Job: proposes metric definitions for a job by the lines that it has, for people whose log no preset knows.
 * Ownership: the caller's arena. Threads: workers; some tens of milliseconds.
 */
#pragma once

#include "base/arena.h"
#include "base/json/json_write.h"

struct pipeline;
struct store_reader;

enum {
	PROPOSALS_LINES_LEAST = 200, /* of a job that runs: before that its presets may still find their lines */
	PROPOSALS_EDGE_LINES = 2048, /* so many of the first lines of the stream, and of its last ones, are looked at */
	PROPOSALS_EDGE_BYTES = 4 << 20, /* if they have no more text than this */
	PROPOSALS_SHOWN = 3
};

/*
 * Writes one object (docs/api.md). stream "": that of the training which has most lines. ERR_NOT_FOUND names the job or stream.
 */
enum status pipeline_propose_definitions(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	struct span job, struct span stream, struct json_writer *w, struct error *err) MUST_CHECK;
