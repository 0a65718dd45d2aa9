/*
 * Job: sealed lines of one stream: at most 1 MiB of text in one zstd frame, with flags and log times; the text comes back
 *      byte for byte. Pure encoding; the format number is the first byte.
 * Ownership: decoded lines point into `plain`, which the caller owns. Threads: values.
 */
#pragma once

#include "base/codec/pack.h"
#include "base/codec/zstd.h"
#include "model/metrics/batch.h"

enum { BLOCK_MAX_BYTES = 1 << 20 };

/* ts_ms of every line is set (NO_TIME is not stored: the sealer puts the line's effective log time). */
enum status block_pack(
	const struct line *lines, size_t count, struct zstd *zstd, struct buf *out, struct error *err) MUST_CHECK;
/* The two halves of it, for whoever needs the content, too. */
enum status block_lay_out(const struct line *lines, size_t count, struct buf *plain, struct error *err) MUST_CHECK;
enum status block_compress(struct span plain, struct zstd *zstd, struct buf *out, struct error *err) MUST_CHECK;

/* lines in the arena, texts in plain (cleared first); sent_bytes is not kept. ERR_INVALID: damaged. */
enum status block_unpack(struct span data, struct zstd *zstd, struct buf *plain, struct arena *arena,
	struct line **lines, size_t *count, struct error *err) MUST_CHECK;
/* The content alone, for block_lines: for whoever goes through the lines once and needs no array of them. */
enum status block_decompress(struct span data, struct zstd *zstd, struct buf *plain, struct error *err) MUST_CHECK;

struct block_list { /* the values of few lines */
	struct unpacker at;
	uint64_t left;
	uint64_t next; /* line that the next value is of */
};
struct block_cursor {
	struct unpacker times, texts;
	struct block_list flags, newlines;
	size_t count, at;
	int64_t before_ms;
};
/* Damaged content has no lines, or ends early: block_is_whole after the last one. */
struct block_cursor block_lines(struct span plain);
bool block_next_line(struct block_cursor *cursor, struct line *line);
/* All texts, a newline behind each. */
struct span block_text(struct span plain);
/* The line that begins at this place of cursor->texts, where no line holds a newline of its own (cursor->newlines.left is 0). */
bool block_go_to(struct block_cursor *cursor, const char *begin, struct line *line);
/* All that are left, room for each; false: the block is damaged. */
bool block_read_lines(struct block_cursor *cursor, struct line *lines);
bool block_is_whole(const struct block_cursor *cursor);
