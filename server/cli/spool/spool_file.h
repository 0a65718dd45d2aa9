/*
 * Job: the files behind the spool: made, named, kept when something is left over.
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
/* Done leaves the file: a note names it. */
void spool_file_keep(struct spool_file *file);
/* So many bytes of the folder's disk, until the descriptor is closed; -1: not to be had. */
int spool_file_reserve(const char *folder, size_t bytes);
/* Of one that another process has made: whether that or a child of it still has it open to write. False: it is ours as long as fd is open. */
bool spool_file_is_written(int fd);

/* An empty file in the folder, called as ours are. */
enum status spool_file_create(
	const char *folder, const char *ending, char path[4096], int *fd, struct error *err) MUST_CHECK;

AUTO_DONE_TYPE(spool_file)
