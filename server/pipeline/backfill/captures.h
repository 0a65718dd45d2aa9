/*
 * Job: what of stored lines is taken for points: a few lines are read again as they were, by the job's own definitions.
 * Ownership: the caller's arena. Threads: workers; some seconds at most.
 *
 * The lines are given to a copy of the stream's extractor, behind all that it has seen: it knows the stream's formats, names and
 * prefixes. For what is said over several lines those in front are read, too, and those behind.
 */
#pragma once

#include "base/buf.h"
#include "extract/extract.h"
#include "store/store.h"

struct pipeline;

enum {
	CAPTURES_LINES_MAX = 1000, /* asked for at once */
	CAPTURES_BEFORE_LINES = 256,
	CAPTURES_BEHIND_LINES = 64,
	CAPTURES_A_LINE = EXTRACT_MARKS_MAX, /* shown of one */
	CAPTURES_TEXT_BYTES = 4 << 20 /* of the lines that are asked for: one line is always read */
};

struct capture {
	uint64_t line;
	struct span metric; /* of the series, with its labels */
	size_t start, end; /* bytes of the text as replies have it: of invalid UTF-8 each byte is U+FFFD */
	struct extracted_mark mark;
};

struct captures_view {
	uint64_t from, end; /* the lines that were read, of those that were asked for */
	uint64_t open_from; /* what is said from that line on may not be complete yet: not until there are more lines */
	uint64_t total; /* lines of the stream */
	struct capture *items; /* by line, then by place */
	size_t count;
};

/* limit: at most CAPTURES_LINES_MAX. ERR_NOT_FOUND and ERR_GONE as of lines_read. */
enum status pipeline_read_captures(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	struct span job, struct span stream, uint64_t from, size_t limit, struct captures_view *out,
	struct error *err) MUST_CHECK;
