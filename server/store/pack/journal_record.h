/*
 * Job: what one journal row holds: the slices of one commit, in order. Their heads and the text of small ones are in one
 *      zstd frame; the text of a large one is a frame of its own behind it, already a block (block.h), so that it is
 *      compressed once in its life. Pure encoding; format 1 knew no kinds, and is still read.
 * Ownership: decoded slices point into `plain`, which the caller owns. Threads: values.
 */
#pragma once

#include "base/codec/pack.h"
#include "base/codec/zstd.h"
#include "model/metrics/batch.h"
#include "store/pack/block.h"

enum { JOURNAL_RECORD_MAX_BYTES = 64 << 20 }; /* unpacked; a group is 4 MiB, or one slice that is longer */

/* What a slice holds; stored, so numbers are never given twice. */
enum journal_kind { JOURNAL_LINES = 0, JOURNAL_BLOCK = 1, JOURNAL_POINTS = 2 };

/* Lines, or points (journal_points.h), of one stream in one commit. Of points line_count and sent_bytes are 0, and
 * first_line and first_byte say where the stream's text stands. */
struct journal_slice {
	enum journal_kind kind;
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
	/* JOURNAL_BLOCK: the block's data; body is its content, empty until journal_open_slice. */
	struct span block;
	int64_t first_ms, last_ms; /* of its lines: the smallest and the largest */
	/* JOURNAL_POINTS: which points they are of all that were sent to the stream; until journal_add the body is given. */
	uint64_t first_point;
	size_t point_count;
};

/* Zeroed to begin with; journal_writer_done to end. */
struct journal_writer {
	struct buf plain;
	struct buf blocks;
	struct buf frame; /* of the last record */
	size_t slice_count;
};

void journal_writer_done(struct journal_writer *writer);
void journal_writer_reset(struct journal_writer *writer); /* forgets what was added */
/* Back to when it held so much: what came later is forgotten. */
void journal_writer_cut(struct journal_writer *writer, size_t plain_bytes, size_t block_bytes, size_t slice_count);
/* Appends; of a JOURNAL_LINES slice `lines` is the text, else slice->block. Returns where in writer->plain the body begins. */
size_t journal_add(struct journal_writer *writer, const struct journal_slice *slice, const struct line *lines);
/* Ends the record: format number, zstd level 1. What was packed goes to *plain (empty before), for the consumers; the
 * writer is empty afterwards. */
enum status journal_pack(struct journal_writer *writer, struct zstd *zstd, struct buf *plain, struct buf *record,
	struct error *err) MUST_CHECK;

/* Reads a record into plain (cleared first) and hands out its slices; they live as long as plain and record. */
enum status journal_unpack(struct span record, struct zstd *zstd, struct buf *plain, struct journal_slice **slices,
	size_t *count, struct arena *arena, struct error *err) MUST_CHECK;
/* Before the lines of a slice from journal_unpack are walked: ERR_INVALID: this one is damaged. Of a JOURNAL_BLOCK into
 * text (cleared first). */
enum status journal_open_slice(
	struct journal_slice *slice, struct zstd *zstd, struct buf *text, struct error *err) MUST_CHECK;

struct journal_cursor {
	enum journal_kind kind;
	struct block_cursor block;
	struct unpacker at;
	size_t left;
	int64_t before_ms; /* of the line before, which times are stated against */
};
struct journal_cursor journal_lines(const struct journal_slice *slice);
/* False at the end. line->text points into the record; sent_bytes is the slice's alone, and 0 here. */
bool journal_next_line(struct journal_cursor *cursor, struct line *line);
