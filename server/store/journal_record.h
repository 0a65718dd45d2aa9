/*
 * Job: what one journal row holds: the slices of one commit, in order, in one zstd frame. Pure encoding.
 * Ownership: decoded slices point into `plain`, which the caller owns. Threads: values.
 */
#pragma once

#include "base/pack.h"
#include "base/zstd.h"
#include "model/batch.h"

enum { JOURNAL_RECORD_MAX_BYTES = 64 << 20 }; /* unpacked; a group is 4 MiB, or one slice that is longer */

/* Lines of one stream in one commit. */
struct journal_slice {
	int64_t job_id;
	uint32_t stream_id;
	uint32_t generation; /* of the job's definitions that these lines are extracted by */
	uint64_t first_line; /* number of the first line in its stream */
	uint64_t first_byte; /* offset of the first line in the stream as sent */
	int64_t arrival_ms;
	size_t line_count;
	size_t text_bytes; /* of the texts, and one for each line */
	uint64_t sent_bytes; /* of the stream as sent: what first_byte grows by */
	struct span body; /* opaque: walk it with journal_lines */
};

/* Zeroed to begin with; buf_done(&writer.plain) to end. */
struct journal_writer {
	struct buf plain;
	size_t slice_count;
};

/* Appends to writer->plain. */
void journal_add(struct journal_writer *writer, const struct journal_slice *slice, const struct line *lines);
/* Ends the record: format number, zstd level 1. What was packed moves to *plain (empty before), for journal_slices; the
 * writer is empty afterwards. */
enum status journal_pack(struct journal_writer *writer, struct zstd *zstd, struct buf *plain, struct buf *record,
	struct error *err) MUST_CHECK;

/* Reads a record into plain (cleared first) and hands out its slices; they live as long as plain. */
enum status journal_unpack(struct span record, struct zstd *zstd, struct buf *plain, struct journal_slice **slices,
	size_t *count, struct arena *arena, struct error *err) MUST_CHECK;

/* The same over a record that is still plain (the writer keeps it for the consumers). */
enum status journal_slices(struct span plain, struct journal_slice **slices, size_t *count, struct arena *arena,
	struct error *err) MUST_CHECK;

struct journal_cursor {
	struct unpacker at;
	size_t left;
	int64_t before_ms; /* of the line before, which times are stated against */
};
struct journal_cursor journal_lines(const struct journal_slice *slice);
/* False at the end. line->text points into the record; sent_bytes is the slice's alone, and 0 here. */
bool journal_next_line(struct journal_cursor *cursor, struct line *line);
