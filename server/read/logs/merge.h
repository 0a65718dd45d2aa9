/*
 * Job: lines of all streams of a job in one order: (log time made monotone within its stream, stream, line number). A line's
 *      place in it never changes, so a cursor is a place.
 * Ownership: results live in the caller's arena. Threads: workers.
 */
#pragma once

#include "read/logs/lines.h"
#include "read/logs/log_search.h"

struct pipeline;

struct merge {
	struct span job;
	struct span stream; /* "": all */
	const struct span *streams; /* where that is "": none of them, all */
	size_t stream_count;
	bool is_backward; /* the last ones before the place */
	const struct log_place *after; /* or before, it not included; NULL: from the start, or the end */
	size_t limit;
	size_t max_bytes; /* of text; the first line is taken whatever it is */
};

struct merged_line {
	struct log_place place; /* its time is the monotone one */
	struct span stream; /* its name */
	struct line_view line;
};

/* The lines that follow (or precede) the place, oldest first; *has_more: there are others behind (or before) them. */
enum status merge_read_lines(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	const struct merge *merge, struct merged_line **out, size_t *count, bool *has_more,
	struct error *err) MUST_CHECK;
