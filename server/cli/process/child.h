/*
 * Job: the training as our child: started with its output in files, its signals forwarded, its end told in words.
 * Ownership: plain values. Threads: the main thread but where it is said; child_start before any other thread exists.
 */
#pragma once

#include "base/error.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

struct child {
	pthread_mutex_t mutex; /* of what follows */
	pid_t pid; /* 0: it does not run (any more), and the number may be another's */
	bool was_stopped; /* by a command: it ends as Stopped even with code 0 */
};
#define CHILD_INIT                                                                                                     \
	{                                                                                                              \
		.mutex = PTHREAD_MUTEX_INITIALIZER                                                                     \
	}

struct child_end {
	int exit_code; /* as a shell has it: 128 + signal when killed */
	int signal; /* that killed it; 0: none */
	bool is_stopped; /* ended after a signal that asked for it */
	const char *secondary_status; /* Completed, Failed, Stopped */
	char reason[512]; /* "" when completed */
};

/*
 * out_fd, err_fd: where the child writes. *is_running false: it could not be started, and *end says how (127 not found,
 * 126 not runnable).
 */
enum status child_start(struct child *child, char *const *command, int out_fd, int err_fd, bool *is_running,
	struct child_end *end, struct error *err) MUST_CHECK;
/* Blocks the signals that child_wait takes; before threads are started, so that they inherit it. */
void child_block_signals(void);
/* Some time, or until one of them comes; true: one that ends us. */
bool child_pause(void);
/* Forwards signals until the child has ended. */
void child_wait(struct child *child, struct child_end *end);
/*
 * Any thread. To the child's process alone, as signals that we get are forwarded: its own children are its business. 0, or errno:
 * ESRCH when it has ended. is_stop: it ends as Stopped.
 */
int child_signal(struct child *child, int number, bool is_stop, pid_t *pid);
/* From waitpid's status. */
void child_describe(int wait_status, bool was_asked_to_stop, struct child_end *end);
