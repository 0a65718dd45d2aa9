/*
 * Job: sm-ship --system: the thread that measures the machine beside the training, into a stream of the host's own,
 *      "system/HOST": figures as points, the kernel's faults as lines. One a host and job: whoever holds the lock file.
 * Ownership: new/free. Threads: all calls from the main thread.
 */
#pragma once

#include "cli/spool/spool.h"

struct system;

struct system_options {
	const char *program; /* for messages */
	struct spool *spool;
	unsigned line_source, point_source; /* in the spool, for spool_write */
	const char *lock_folder;
	const char *server, *job, *host; /* all ranks of the job on this host, and nobody else, have the same */
	bool is_preferred; /* local rank 0; the others wait an interval before they try */
	int64_t interval_ms;
	const char *proc, *kmsg;
	const char *folder; /* of the training: is its disk full? */
};

enum status system_start(struct system **out, const struct system_options *options, struct error *err) MUST_CHECK;
/* Ends the thread; the last figures are in the spool then. */
void system_free(struct system *system);

AUTO_TYPE(system)
