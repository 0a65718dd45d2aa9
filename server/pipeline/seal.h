/*
 * Job: what the sealer's two files share: one run, and the streams in it. seal.c chooses streams and commits them; seal_build.c
 *      makes their blocks and chunks.
 * Ownership: everything of a run is in its arena, but for the packed states and the counted jobs. Threads: maintenance.
 */
#pragma once

#include "pipeline/internal.h"

enum { UNITS_MAX = 64 };

struct sealed_series {
	struct series_row row;
	uint64_t first_ordinal;
	struct point *points;
	size_t count;
};

struct unit {
	struct stream_state *stream; /* job counted */
	uint64_t upto_seq, first_line, line_count;
	uint64_t sent_bytes; /* of the stream up to upto_seq */
	int64_t first_ms, last_ms;
	struct tail_range *ranges;
	size_t range_count;
	struct sealed_series *series;
	size_t series_count;
	struct buf state;
	struct line *lines; /* filled from the journal */
	size_t filled;
	struct block_row *blocks;
	size_t block_count;
	struct chunk_row *chunks;
	size_t chunk_count;
};

struct seal {
	struct pipeline *pipeline;
	struct store_reader *reader;
	struct zstd *zstd;
	struct arena *arena; /* everything of this run */
	struct unit units[UNITS_MAX];
	size_t count;
	size_t text_bytes;
	bool all;
	bool is_journal_long; /* half of what it may hold: from there on nothing waits to be decided */
};

/* Fills the lines of all units from the journal, then makes their blocks and chunks. */
enum status seal_build(struct seal *seal, struct error *err) MUST_CHECK;
