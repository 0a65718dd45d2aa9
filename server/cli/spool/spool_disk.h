/*
 * Job: what a file of the spool takes of its disk: what is done with is given back as a hole, and some room is reserved behind its end.
 * Ownership: the descriptor is the caller's. Threads: under the caller's lock.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum {
	SPOOL_MIN_FREE_BYTES = 16 << 20, /* of the folder's disk: they are left to the child and to others */
	SPOOL_LAST_BYTES = 1 << 20, /* that a child's newest lines may hold where the disk has no more */
};

struct spool_disk_file {
	int fd;
	bool cannot_punch;
	uint64_t dropped_start, dropped_end; /* the last of a child's bytes that were not kept */
	uint64_t reserved_end; /* 0: nothing is reserved */
};

/* What the file's disk has free; UINT64_MAX: it has no bound of its own. */
uint64_t spool_disk_free(int fd);
/* What was sent: to the byte. */
void spool_disk_punch(struct spool_disk_file *file, uint64_t start, uint64_t end);
/* What is not kept: see there. */
void spool_disk_drop(struct spool_disk_file *file, uint64_t start, uint64_t end);
/* Some room behind `end`, if little is left of what was reserved before. */
void spool_disk_reserve(struct spool_disk_file *file, uint64_t end);
