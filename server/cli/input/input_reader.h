/*
 * Job: the thread that reads: a pipe on standard input, or files that grow (the child's output, the user's files); it
 *      passes the bytes through unchanged and puts the lines into the spool.
 * Ownership: new/free; descriptors are the caller's. Threads: all calls from the main thread.
 */
#pragma once

#include "cli/input/file_tail.h"
#include "cli/spool/spool.h"

#include <pthread.h>

struct intake;

struct intake_input {
	int fd;
	int pass_fd; /* -1: not passed through */
	unsigned source; /* in the spool */
};

struct intake_options {
	struct spool *spool;
	const struct intake_input *inputs;
	size_t count;
	bool is_pipe; /* one input, read to its end, kept in the spool's file; else files are read where they are */
	bool ends_at_end; /* files: done at their ends; else when intake_stop was called and the ends are reached */
	struct watch *watch; /* the user's files; NULL: none */
	int poll_ms; /* files: how often to look */
	int64_t patience_ms; /* how long what has no room in the spool waits at the end while nothing moves; 0: for ever */
	pthread_t waiter; /* gets SIGCHLD when the thread is done */
};

enum status intake_start(struct intake **out, const struct intake_options *options, struct error *err) MUST_CHECK;
/* Ends the thread at once if it still runs. */
void intake_free(struct intake *intake);
/* A pipe is left where it is; files are read to their ends as they are now. */
void intake_stop(struct intake *intake);
bool intake_is_done(struct intake *intake);
/* Waits; the last lines are in the spool then, which the caller ends. */
void intake_join(struct intake *intake);

AUTO_TYPE(intake)
