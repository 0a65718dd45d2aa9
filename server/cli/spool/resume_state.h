/*
 * Job: what a killed sm-ship leaves to the next one: for each stream, where it stood in its files, and the batch that was on
 *      its way, written before the batch is sent. The batch is sent again at the same offset, which the server knows
 *      to be there or not: each line arrives once.
 * Ownership: new/free; a page's lists are the caller's to free. Threads: any; a stream is opened before
 *      its first batch is noted.
 */
#pragma once

#include "cli/spool/spool.h"

struct ledger;

enum { LEDGER_MAX_FILES = SPOOL_MAX_FILES, LEDGER_HASH_BYTES = 8, LEDGER_SOURCE_BYTES = 32 };

struct ledger_file {
	uint64_t device, inode;
	uint64_t at; /* what is before it was sent, or is in the batch */
	uint64_t head_len;
	unsigned char head_hash[LEDGER_HASH_BYTES]; /* inodes are used again */
};

struct ledger_piece {
	size_t file;
	struct spool_piece piece; /* without its fd */
};

/* Of one stream. */
struct ledger_page {
	bool has_ended; /* all was sent, and the end was told */
	bool is_elsewhere; /* of another address of the server, or of another server; not packed */
	char job[256];
	char source
		[LEDGER_SOURCE_BYTES]; /* whose bytes of the stream are counted; "": an older version's, those without one */
	uint64_t base; /* where the batch begins in what is counted */
	struct ledger_file files[LEDGER_MAX_FILES]; /* in the order in which they were read */
	size_t file_count;
	struct ledger_piece pieces[SPOOL_MAX_PIECES];
	size_t piece_count;
};

enum status ledger_new(struct ledger **out, const char *folder, const char *server, const char *job, size_t max_streams,
	struct error *err) MUST_CHECK;
void ledger_free(struct ledger *ledger);
/*
 * *has_page: the stream is known from before. Where it was last sent to another address than ours, the page is that one
 * (is_elsewhere): how much of it this server has, the server has to be asked. ERR_CONFLICT: another process that runs sends it. */
enum status ledger_open_stream(struct ledger *ledger, unsigned stream, const char *name, struct ledger_page *page,
	bool *has_page, struct error *err) MUST_CHECK;
/* Of one that was opened: its pages have room on the disk from now on, whoever fills that. */
void ledger_reserve(struct ledger *ledger, unsigned stream);
/* The stream goes on where the page says. */
void ledger_adopt(struct ledger *ledger, unsigned stream, const struct ledger_page *page);
/* The stream's files are read from their starts again: the server may have what they begin with. */
void ledger_ask(struct ledger *ledger, unsigned stream, const struct ledger_page *page);
/* What the page is of was sent to its end: other files that follow it in the stream need no source of their own. */
void ledger_share(struct ledger *ledger, unsigned stream, const struct ledger_page *page);
/*
 * Whose bytes of the stream are counted, when that is known from before (adopt, ask, share); NULL: it is not. Another machine may have
 * gone on with the stream meanwhile, and what that sent is no part of the count.
 */
const char *ledger_source(const struct ledger *ledger, unsigned stream);
/* Is it to be asked? *stands: a page says that the source's first bytes, as many as the server has, are those of its one file. */
bool ledger_asks(const struct ledger *ledger, unsigned stream, const char *job, uint64_t bytes, bool *stands);
/* The server has so many bytes of the batch. */
void ledger_pass(struct ledger *ledger, unsigned stream, const struct spool_batch *batch, uint64_t bytes);
/* The job of the streams that go on; NULL: there are none. */
const char *ledger_job(const struct ledger *ledger);
/* A file of the stream has its first bytes: known from now on, should it be renamed while nobody looks. */
void ledger_see(struct ledger *ledger, unsigned stream, int fd);
/* Was the file seen before? */
bool ledger_knows(struct ledger *ledger, unsigned stream, int fd);
struct ledger_note {
	const char *job;
	const char *source; /* "": none */
	uint64_t base;
	const struct spool_batch *batch;
};
/* The batch goes to the server next. */
enum status ledger_note(
	struct ledger *ledger, unsigned stream, const struct ledger_note *note, struct error *err) MUST_CHECK;
/* Where the stream's first batch is to go, when that is known from before. */
bool ledger_base(const struct ledger *ledger, unsigned stream, uint64_t *base);
/* All is told: nothing is left to go on with. */
void ledger_remove(struct ledger *ledger);
/* The same for files that may be gone on with (--resume). */
void ledger_end(struct ledger *ledger);
/* Is the open file the one that the page means? Of our own files the start may be punched out by now. */
bool ledger_file_is(const struct ledger_file *file, int fd);

/* The page as it stands in the file, for tests. ERR_INVALID: damaged. */
enum status ledger_page_unpack(struct ledger_page *page, struct span bytes, struct error *err) MUST_CHECK;
void ledger_page_pack(const struct ledger_page *page, struct buf *out);

AUTO_TYPE(ledger)
