/*
 * Job: lines of one stream, copied out of files, as they are sent together.
 * Ownership: init/done. Threads: one at a time.
 */
#pragma once

#include "base/alloc.h"
#include "base/buf.h"

enum {
	SPOOL_MAX_LINE_BYTES = 1 << 20,
	SPOOL_MAX_PIECES = 256, /* of one batch */
	SPOOL_MAX_FILES = 32, /* that these are of: a ledger's page names them all */
};

struct spool_run {
	size_t end; /* in text */
	int64_t ts_ms;
};

/* Why lines were dropped: flags, since losses that follow each other are told together. */
enum {
	SPOOL_LOST_TO_BOUND = 1, /* --spool-bytes */
	SPOOL_LOST_TO_DISK = 2,
	SPOOL_LOST_TO_MEMORY = 4,
	SPOOL_LOST_TO_CUT = 8, /* of the file, before they were sent */
	SPOOL_LOST_TO_HOLE = 16, /* dropped by a sm-ship that was killed: how many lines they were is not known */
	SPOOL_LOST_ALL = 31,
};
/* "the spool was full and memory ran out" */
void spool_put_loss_reason(struct buf *out, unsigned why);

/* A part of a file in whole lines, or a loss (lost_lines > 0). */
struct spool_piece {
	int fd;
	uint64_t start, end;
	uint64_t lost_lines, lost_bytes;
	int64_t ts_ms;
	unsigned lost_to; /* flags; 0, in what older versions left: to the bound */
	bool has_open_end; /* the last line has no newline: one is added */
};

struct spool_batch {
	unsigned stream;
	struct buf text; /* whole lines, each with its newline: what the server counts offsets in */
	struct spool_run *runs;
	size_t run_count, run_cap;
	struct spool_piece *pieces; /* where the text stands, as far as it is taken */
	size_t piece_count, piece_cap;
};

void spool_batch_init(struct spool_batch *batch);
void spool_batch_done(struct spool_batch *batch);
AUTO_DONE_TYPE(spool_batch)

/* Adds what fits of the piece; *is_full: not all of it. ERR_IO: the file does not hold it any more. */
enum status spool_batch_add(struct spool_batch *batch, const struct spool_piece *piece, size_t max_bytes, bool *is_full,
	struct error *err) MUST_CHECK;
/* What the piece adds to a batch when all of it fits. */
uint64_t spool_piece_bytes(const struct spool_piece *piece);
