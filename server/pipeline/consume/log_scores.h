/*
 * Job: the tables of lm-evaluation-harness in a stream's lines become scores of the job's checkpoints, as if they were sent; what was sent
 *      stays. docs/evaluations.md, "From the log".
 * Ownership: the stream's. Threads: the stream's lock; the writer writes.
 */
#pragma once

#include "extract/extract.h"
#include "state/streams/directory.h"

struct pipeline;

/* Under the stream's lock: a line; what was found goes to the writer behind the last line of a slice, and in between where it is much. */
enum status log_scores_feed(struct pipeline *pipeline, struct stream_state *stream, const struct extract_line *line,
	int64_t ts_ms, int64_t arrival_ms, struct error *err) MUST_CHECK;
enum status log_scores_hand_over(struct pipeline *pipeline, struct stream_state *stream, struct error *err) MUST_CHECK;
