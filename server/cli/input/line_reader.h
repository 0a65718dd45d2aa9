/*
 * Job: one input that is read in pieces: bytes in, passed through unchanged, whole lines into the spool.
 * Ownership: init/done; descriptors are the caller's. Threads: one at a time.
 */
#pragma once

#include "cli/spool/spool.h"

enum { LINE_READER_HEAD_BYTES = 256, LINE_READER_BYTES = 64 << 10 };

struct line_reader {
	int fd;
	int pass_fd; /* -1: not passed through */
	unsigned source; /* in the spool */
	bool is_pipe; /* read once and kept in the spool's file; else a file that is read where it is */
	bool has_holes; /* where a sm-ship that was killed had no room: their bytes are lost, and told so */
	bool says_times; /* lines are read when they are written, so the time is worth telling */
	uint64_t
		old_to; /* bytes that were there when the first were read, by lines that show their time: that is theirs */
	int64_t ts_ms; /* told instead; 0: none */
	struct buf pending; /* a line without its end */
	uint64_t read_at; /* of a file */
	char head[LINE_READER_HEAD_BYTES]; /* how the file starts, by which it is known again */
	size_t head_len;
	bool is_first; /* nothing was read yet */
	uint64_t lost_bytes; /* around a hole, up to the next line */
};

void line_reader_init(struct line_reader *reader, int fd, int pass_fd, unsigned source);
void line_reader_done(struct line_reader *reader);
/* Bytes read, the whole lines among them put; 0 at the end. Of a file less than LINE_READER_BYTES are its last. */
size_t line_reader_read(struct line_reader *reader, struct spool *spool);
/* The last line has no newline and will not get one. */
void line_reader_finish(struct line_reader *reader, struct spool *spool);
/* Does the file still start as it did? */
bool line_reader_knows(const struct line_reader *reader, int fd);
