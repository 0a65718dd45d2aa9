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
/* Of one that another process has made: whether that or a child of it still has it open to write. False: it is ours as long as fd is open. */
bool spool_file_is_written(int fd);

/* When the lines of a file were read: up to which byte at what time. */
struct spool_times {
	struct spool_run *items;
	size_t count, cap;
};
/* What follows within a second shares its time. */
enum status spool_times_add(struct spool_times *times, size_t end, int64_t ts_ms, struct error *err) MUST_CHECK;
void spool_times_done(struct spool_times *times);

struct spool_saved {
	unsigned stream;
	char path[4096]; /* in the folder, else in /tmp */
	uint64_t lines;
	struct spool_times times;
};
/* Writes what waits in the spool, the oldest first, up to the first line of another stream. The spool is emptied of it. */
enum status spool_save(
	struct spool *spool, const char *folder, struct spool_saved *saved, struct error *err) MUST_CHECK;

static inline void spool_saved_done(struct spool_saved *saved)
{
	spool_times_done(&saved->times);
}

AUTO_DONE_TYPE(spool_file)
AUTO_DONE_TYPE(spool_saved)
