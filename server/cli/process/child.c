#include "cli/process/child.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { EXIT_NOT_RUNNABLE = 126, EXIT_NOT_FOUND = 127, EXIT_SIGNAL_BASE = 128 };

static const int forwarded[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};

enum { PAUSE_MS = 200 };

void child_block_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < sizeof forwarded / sizeof *forwarded; i++)
		sigaddset(&set, forwarded[i]);
	sigaddset(&set, SIGCHLD);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN); /* a reader of our output that goes away must not end us */
	signal(SIGCHLD, SIG_DFL); /* inherited "ignore" would lose the child's end */
}

bool child_pause(void)
{
	struct timespec time = {.tv_nsec = PAUSE_MS * 1000000};
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGCHLD);
	int number = sigtimedwait(&set, NULL, &time);
	return number > 0 && number != SIGCHLD;
}

static void name_signal(int number, char *out, size_t room)
{
	const char *name = sigabbrev_np(number);

	if (name)
		snprintf(out, room, "killed by signal %d (SIG%s)", number, name);
	else
		snprintf(out, room, "killed by signal %d", number);
}

void child_describe(int wait_status, bool was_asked_to_stop, struct child_end *end)
{
	*end = (struct child_end){.secondary_status = "Completed"};
	if (WIFSIGNALED(wait_status)) {
		int number = end->signal = WTERMSIG(wait_status);
		end->exit_code = EXIT_SIGNAL_BASE + number;
		name_signal(number, end->reason, sizeof end->reason);
		end->is_stopped = was_asked_to_stop && number != SIGKILL && number != SIGSEGV && number != SIGABRT;
	} else {
		end->exit_code = WEXITSTATUS(wait_status);
		if (end->exit_code)
			snprintf(end->reason, sizeof end->reason, "exit code %d", end->exit_code);
		end->is_stopped = was_asked_to_stop && end->exit_code;
	}
	if (end->exit_code)
		end->secondary_status = end->is_stopped ? "Stopped" : "Failed";
}

/* In the child: never returns. The errno of a failed exec goes through the pipe, which an exec that works closes. */
static void become(char *const *command, int out_fd, int err_fd, int failure_fd)
{
	sigset_t none;

	signal(SIGPIPE, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (dup2(out_fd, STDOUT_FILENO) >= 0 && dup2(err_fd, STDERR_FILENO) >= 0 &&
		setenv("PYTHONUNBUFFERED", "1", 1) == 0) /* else Python sits on its lines: it sees no terminal */
		execvp(command[0], command);
	int failure = errno;
	ssize_t told = write(failure_fd, &failure, sizeof failure);
	_exit(told == sizeof failure ? EXIT_NOT_FOUND : EXIT_NOT_RUNNABLE);
}

static void describe_failure(const char *name, int failure, struct child_end *end)
{
	*end = (struct child_end){
		.exit_code = failure == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_RUNNABLE, .secondary_status = "Failed"};
	snprintf(end->reason, sizeof end->reason, "cannot run '%.300s': %s", name, strerror(failure));
}

enum status child_start(struct child *child, char *const *command, int out_fd, int err_fd, bool *is_running,
	struct child_end *end, struct error *err)
{
	int failure_pipe[2], failure = 0;

	if (pipe2(failure_pipe, O_CLOEXEC) != 0)
		return error_set(err, ERR_IO, "cannot make a pipe: %s", strerror(errno));
	pid_t pid = fork();
	if (pid == 0)
		become(command, out_fd, err_fd, failure_pipe[1]);
	int fork_failure = errno;
	close(failure_pipe[1]);
	if (pid < 0) {
		close(failure_pipe[0]);
		return error_set(err, ERR_IO, "cannot start a process: %s", strerror(fork_failure));
	}
	ssize_t got;
	do {
		got = read(failure_pipe[0], &failure, sizeof failure);
	} while (got < 0 && errno == EINTR);
	close(failure_pipe[0]);
	*is_running = got != sizeof failure;
	child->pid = *is_running ? pid : 0;
	if (!*is_running) {
		waitpid(pid, NULL, 0);
		describe_failure(command[0], failure, end);
	}
	return OK;
}

int child_signal(struct child *child, int number, bool is_stop, pid_t *pid)
{
	int failure = ESRCH;

	pthread_mutex_lock(&child->mutex);
	*pid = child->pid;
	if (child->pid) {
		failure = kill(child->pid, number) == 0 ? 0 : errno;
		child->was_stopped |= is_stop && failure == 0;
	}
	pthread_mutex_unlock(&child->mutex);
	return failure;
}

/* Seen first and reaped then, under the lock: no signal goes to a number that is somebody else's by now. */
static bool reap(struct child *child, int *wait_status)
{
	siginfo_t seen = {0};

	if (waitid(P_PID, (id_t)child->pid, &seen, WEXITED | WNOHANG | WNOWAIT) != 0 || seen.si_pid == 0)
		return false;
	pthread_mutex_lock(&child->mutex);
	bool is_reaped = waitpid(child->pid, wait_status, 0) == child->pid;
	if (is_reaped)
		child->pid = 0;
	pthread_mutex_unlock(&child->mutex);
	return is_reaped;
}

void child_wait(struct child *child, struct child_end *end)
{
	bool was_asked_to_stop = false;
	sigset_t set;
	int wait_status;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	for (size_t i = 0; i < sizeof forwarded / sizeof *forwarded; i++)
		sigaddset(&set, forwarded[i]);
	while (!reap(child, &wait_status)) {
		siginfo_t info;
		int number = sigwaitinfo(&set, &info);
		if (number < 0 || number == SIGCHLD)
			continue;
		was_asked_to_stop |= number == SIGINT || number == SIGTERM || number == SIGHUP;
		/* What the terminal sends, it sends to the whole group: the child has it already. */
		if (info.si_code != SI_KERNEL)
			kill(child->pid, number);
	}
	child_describe(wait_status, was_asked_to_stop || child->was_stopped, end);
	if (child->was_stopped && end->exit_code == 0) { /* it took the chance to save, and went */
		end->is_stopped = true;
		end->secondary_status = "Stopped";
	}
}
