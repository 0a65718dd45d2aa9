/*
 * Job: what the sealer's files share: one run, and the streams in it. seal.c chooses streams and commits them; seal_blocks.c
 *      has their text, seal_chunks.c their points.
 * Ownership: everything of a run is in its arena, but for the packed states and the counted jobs. Threads: maintenance.
 */
#pragma once

#include "base/codec/zstd.h"
#include "state/streams/directory.h"
#include "store/blocks.h"
#include "store/points.h"
#include "store/streams.h"

struct pipeline;

enum { UNITS_MAX = 1024 };

struct sealed_series {
	struct series_row row;
	uint64_t first_ordinal;
	struct point *points;
	size_t count;
};

struct unit {
	struct stream_state *stream; /* job counted */
	/* Text: of lines that were extracted, from where its blocks end. */
	struct tail_range *ranges; /* where it is in the journal */
	size_t range_count;
	uint64_t text_bytes; /* of them */
	uint64_t text_line; /* next line to be put into a block */
	uint64_t text_end;
	bool has_open_block; /* the last block is small, and will be written again with what is collected */
	struct line *lines; /* collected for the next blocks, up to text_line */
	size_t line_count, line_cap;
	struct block_row *blocks;
	size_t block_count, block_cap;
	/* The rest goes along when all extracted text does; else this run has text alone, ahead of the stream's watermark. */
	bool is_whole;
	uint64_t upto_seq, first_line, sealed_lines;
	uint64_t sent_bytes; /* of the stream up to upto_seq */
	uint64_t sent_points; /* the same of points that were sent as such */
	int64_t first_ms, last_ms;
	struct sealed_series *series;
	size_t series_count;
	struct buf state;
	struct chunk_row *chunks;
	size_t chunk_count;
};

/* Of the journal, with lines of these streams. */
struct journal_row {
	uint64_t seq;
	uint64_t text_bytes; /* of what is wanted of it */
	struct group *kept; /* counted; NULL: it is to be read */
};

struct seal {
	struct pipeline *pipeline;
	struct store_reader *reader;
	struct zstd *zstd;
	struct arena *arena; /* everything of this run, but what a group is written by */
	struct arena *group_arena; /* chunks and pyramids of the units that are written together */
	struct unit units[UNITS_MAX];
	size_t count;
	struct journal_row *rows; /* collected lines lie in those that are kept */
	size_t row_count;
	size_t text_bytes, point_bytes;
	size_t due_bytes; /* streams with so much text are due */
	uint64_t due_seq; /* streams with lines of this commit or an older one are due; 0: only what is large */
	bool is_journal_long; /* half of what it may hold: from there on nothing waits to be decided */
};

/* A row that cannot be read back harms itself alone: it is logged and counted, and left for `check` to name. */
void seal_note_damage(
	struct seal *seal, const struct stream_state *stream, const char *what, uint64_t at, const struct error *err);

/* ---- seal_blocks.c: text ---- */
bool seal_copy_ranges(struct seal *seal, struct unit *unit); /* under the stream's lock; sets is_whole */
enum status seal_make_blocks(struct seal *seal, struct error *err) MUST_CHECK; /* of all units, from the journal */
enum status seal_write_blocks(const struct unit *unit, struct store_tx *tx, struct error *err) MUST_CHECK;
void seal_drop_ranges(const struct unit *unit); /* after the commit, under the stream's lock */
void seal_free_text(struct unit *unit);
void seal_free_rows(struct seal *seal);

/* ---- seal_chunks.c: points ---- */
bool seal_copy_series(struct seal *seal, struct unit *unit); /* under the stream's lock */
size_t seal_end_group(const struct seal *seal, size_t from); /* so many units from this one on have few enough series */
enum status seal_make_chunks(
	struct seal *seal, size_t from, size_t end, struct error *err) MUST_CHECK; /* of those that are whole */
enum status seal_write_chunks(const struct unit *unit, struct store_tx *tx, struct error *err) MUST_CHECK;
void seal_drop_points(const struct unit *unit); /* after the commit, under the stream's lock */

/* Seals what is due: large, or with lines of commit due_seq or before. *has_more: call again, with the same due_seq, or
 * streams that get lines all the time keep the others from ever being sealed. */
enum status seal_run(struct pipeline *pipeline, struct store_reader *reader, struct zstd *zstd, uint64_t due_seq,
	bool *has_more, struct error *err) MUST_CHECK;
