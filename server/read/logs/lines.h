/*
 * Job: stored lines of one stream by number.
 * Ownership: lines live in the arena. Threads: any.
 */
#pragma once

#include "base/buf.h"
#include "store/store.h"

struct pipeline;

struct line_view {
	uint64_t number;
	int64_t ts_ms; /* effective log time */
	struct span text;
	uint32_t flags;
};

/* Lines from..from+limit of one stream (from UINT64_MAX: the last limit ones), fewer when they have more text than
 * max_bytes, but at least one. stream is not "". *total: lines of the stream. ERR_NOT_FOUND names the job or stream. ERR_GONE: the
 * first of these lines was deleted; the error has first_kept_line. */
enum status lines_read(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena, struct span job,
	struct span stream, uint64_t from, size_t limit, size_t max_bytes, struct line_view **out, size_t *count,
	uint64_t *total, struct error *err) MUST_CHECK;

/* Log time of one of them; 0: there is none, or it was deleted. */
enum status lines_read_time(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	struct span job, struct span stream, uint64_t number, int64_t *out, struct error *err) MUST_CHECK;

/* Text of one stream as it came, from line next to end, batch by batch. The call with out NULL settles where it begins (behind
 * what was deleted) and ends; each other one appends a batch and moves next on, until it is end. Lines that were damaged, or
 * deleted meanwhile, become one line that says so. ERR_GONE: the job was deleted; at the first call also where all of these lines
 * were, with first_kept_line. */
struct raw_place {
	uint64_t next, end;
	uint64_t total; /* lines of the stream, at the first call */
	int64_t job_id;
};

enum status lines_read_raw(struct pipeline *pipeline, struct store_reader *reader, struct span job, struct span stream,
	struct raw_place *place, struct buf *out, struct error *err) MUST_CHECK;
