/*
 * Job: a walk over the unsealed lines of a job: RAM names the journal's rows; each row is read once, whatever number of
 *      streams is in it. Lines of one stream come in order.
 * Ownership: `streams` is freed by tail_done. Threads: one at a time; no snapshot is held between rows.
 */
#pragma once

#include "base/codec/zstd.h"
#include "model/metrics/batch.h"
#include "store/store.h"

struct pipeline;

struct tail_stream { /* in RAM: its unsealed lines are those from start to end - 1 */
	uint32_t stream_id;
	uint64_t start, end;
};

struct tail {
	struct pipeline *pipeline;
	struct store_reader *reader;
	struct zstd *zstd;
	struct span job, stream; /* stream "": all */
	int64_t until_ms; /* on the monotonic clock: then it ends */
	/* lines: with their effective times, texts in one piece, as a block has them. */
	enum status (*take)(void *context, const struct tail_stream *stream, uint64_t first_line,
		const struct line *lines, size_t count, struct error *err);
	void *context;
	/* What came of it. */
	struct tail_stream *streams; /* by stream_id */
	size_t stream_count;
	bool is_stale; /* a row was sealed meanwhile: start again */
	bool is_partial; /* out of time */
};

void tail_done(struct tail *tail);
enum status tail_walk(struct tail *tail, struct error *err) MUST_CHECK;
/* NULL: not in RAM, all its lines are sealed. */
const struct tail_stream *tail_find(const struct tail *tail, uint32_t stream_id);
