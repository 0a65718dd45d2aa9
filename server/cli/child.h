/*
 * Job: the training as our child: started with its output in files, its signals forwarded, its end told in words.
 * Ownership: plain values. Threads: the main thread; child_start before any other thread exists.
 */
#pragma once

#include "base/error.h"

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

struct child_end {
	int exit_code; /* as a shell has it: 128 + signal when killed */
	bool is_stopped; /* ended after a signal that asked for it */
	const char *secondary_status; /* Completed, Failed, Stopped */
	char reason[512]; /* "" when completed */
};

/*
 * out_fd, err_fd: where the child writes. *is_running false: it could not be started, and *end says how (127 not found,
 * 126 not runnable).
 */
enum status child_start(pid_t *pid, char *const *command, int out_fd, int err_fd, bool *is_running,
	struct child_end *end, struct error *err) MUST_CHECK;
/* Blocks the signals that child_wait takes; before threads are started, so that they inherit it. */
void child_block_signals(void);
/* Forwards signals until the child has ended. */
void child_wait(pid_t pid, struct child_end *end);
/* From waitpid's status. */
void child_describe(int wait_status, bool was_asked_to_stop, struct child_end *end);
