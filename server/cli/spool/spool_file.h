/*
 * Job: the files behind the spool: made, named, copied out when something is left over.
 * Ownership: open/done; done removes the file unless it is kept. Threads: the main thread.
 */
#pragma once

#include "cli/spool/spool.h"

struct spool_file {
	int fd; /* read and write; -1: not open */
	int append_fd; /* for a child: every write goes to the end */
	char path[4096]; /* "": in memory alone */
};

#define SPOOL_FILE_NONE ((struct spool_file){.fd = -1, .append_fd = -1})

/* In the folder, else (said by *why) in memory: a spool that cannot be made must not keep a training from running. */
enum status spool_file_open(struct spool_file *file, const char *folder, const char *ending, struct error *why,
	struct error *err) MUST_CHECK;
void spool_file_done(struct spool_file *file);

/* Writes what waits in the spool, the oldest first, up to the first line of another stream; *lines: how many.
 * The spool is emptied of them. path is chosen in the folder, else in /tmp. */
enum status spool_save(struct spool *spool, const char *folder, unsigned *stream, char path[4096], uint64_t *lines,
	struct error *err) MUST_CHECK;

AUTO_DONE_TYPE(spool_file)
