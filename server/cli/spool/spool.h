/*
 * Job: the lines that the server does not have yet: an index over files (the child's output, our own spool, the user's
 *      files) in the order of reading, bounded in bytes. The texts stay in the files; behind what is acknowledged our
 *      files are punched. When it is full the oldest lines stay; new ones are dropped, counted, and the loss takes their
 *      place in the stream.
 * Ownership: new/free; sources' descriptors are the caller's. Threads: one puts of each source, one takes; the
 *      rest from any.
 */
#pragma once

#include "base/alloc.h"
#include "base/buf.h"
#include "cli/spool/spool_batch.h"
#include "cli/spool/spool_disk.h"

struct spool;

struct spool_source {
	int fd; /* readable; writable where is_ours */
	unsigned stream; /* index of the stream that its lines go to */
	bool is_ours; /* counted against the bound, punched when sent; else a file of the user, never touched */
};

struct spool *spool_new(uint64_t max_bytes) __attribute__((warn_unused_result)); /* NULL: out of memory */
void spool_free(struct spool *spool);
/* The number of the source comes back. By who puts; a source of spool_write before any thread uses the spool. */
enum status spool_add_source(
	struct spool *spool, const struct spool_source *source, unsigned *number, struct error *err) MUST_CHECK;

/* A child writes the source: it is to find some room for its last words, also where others fill the disk. Before it starts. */
void spool_reserve(struct spool *spool, unsigned source);

/* Whole lines that stand in the source at byte `start`. ts_ms: when they were read, 0: not to be said. */
void spool_put(struct spool *spool, unsigned source, struct span lines, uint64_t start, int64_t ts_ms);
/* The same for a last line without its newline. */
void spool_put_open_end(struct spool *spool, unsigned source, struct span line, uint64_t start, int64_t ts_ms);
/* One that a batch had before, in another process; its fd is the source's. */
void spool_put_piece(struct spool *spool, unsigned source, const struct spool_piece *piece);
/* Appends whole lines to the source's file (nobody else writes it) and puts them. */
void spool_write(struct spool *spool, unsigned source, struct span lines, bool has_open_end, int64_t ts_ms);
/* The same as far as there is room: how many bytes, in whole lines. The rest is the caller's still, and is no loss. */
size_t spool_offer(struct spool *spool, unsigned source, struct span lines);
/* Nothing of the source waits: its descriptor is no longer needed. */
bool spool_is_source_empty(struct spool *spool, unsigned source);
/* From now on nothing is punched: what waits is left to others. */
void spool_keep_files(struct spool *spool);
/* Nothing more will be put. */
void spool_end(struct spool *spool);
/* The server has refused us: forget everything, take nothing more. */
void spool_discard(struct spool *spool);

enum spool_state { SPOOL_HAS_BATCH, SPOOL_IS_EMPTY, SPOOL_HAS_ENDED };

/* Until full_bytes wait, or the oldest line has waited linger_ms, or it ended; SPOOL_IS_EMPTY after timeout_ms. */
enum spool_state spool_wait(struct spool *spool, size_t full_bytes, int64_t linger_ms, int64_t timeout_ms);
/* The oldest lines, about max_bytes of them (one line may be longer). ERR_IO: the file does not give them any more. */
enum status spool_take(struct spool *spool, size_t max_bytes, struct spool_batch *batch, struct error *err) MUST_CHECK;
/* So many bytes of the oldest lines (as batch.text counts them) are safe with the server. */
void spool_release(struct spool *spool, size_t text_bytes);
/* Gives up the oldest piece, which cannot be read: it becomes a loss. */
void spool_lose_head(struct spool *spool);

struct spool_totals {
	uint64_t waiting_bytes;
	uint64_t lost_lines, lost_bytes;
	unsigned lost_to; /* flags of spool_batch.h */
};
struct spool_totals spool_totals(struct spool *spool);

AUTO_TYPE(spool)
