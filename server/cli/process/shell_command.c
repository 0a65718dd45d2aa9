#include "cli/process/shell_command.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { EXIT_NOT_RUNNABLE = 126, EXIT_SIGNAL_BASE = 128 };

/* A file in memory: the command may read it or not, nobody waits for it. */
static enum status make_input(struct span input, int *fd, struct error *err)
{
	*fd = memfd_create("restart", MFD_CLOEXEC);
	if (*fd < 0)
		return error_set(err, ERR_IO, "cannot make a file in memory: %s", strerror(errno));
	while (input.len) {
		ssize_t written = write(*fd, input.ptr, input.len);
		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0) {
			int failure = errno;
			close(*fd);
			return error_set(err, ERR_IO, "cannot write a file in memory: %s", strerror(failure));
		}
		input = (struct span){input.ptr + written, input.len - (size_t)written};
	}
	lseek(*fd, 0, SEEK_SET);
	return OK;
}

/* In the child: never returns. */
static void become(const char *command, int input_fd, char *const *variables)
{
	sigset_t none;

	signal(SIGPIPE, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	for (; *variables; variables++)
		if (putenv(*variables) != 0)
			_exit(EXIT_NOT_RUNNABLE);
	if (dup2(input_fd, STDIN_FILENO) >= 0)
		execl("/bin/sh", "sh", "-c", command, (char *)NULL);
	_exit(EXIT_NOT_RUNNABLE);
}

enum status shell_command_run(
	const char *command, struct span input, char *const *variables, int *exit_code, struct error *err)
{
	int fd, wait_status;

	TRY(make_input(input, &fd, err));
	pid_t pid = fork();
	if (pid == 0)
		become(command, fd, variables);
	int failure = errno;
	close(fd);
	if (pid < 0)
		return error_set(err, ERR_IO, "cannot start a process: %s", strerror(failure));
	while (waitpid(pid, &wait_status, 0) < 0)
		if (errno != EINTR)
			return error_set(err, ERR_IO, "cannot wait for a process: %s", strerror(errno));
	*exit_code = WIFSIGNALED(wait_status) ? EXIT_SIGNAL_BASE + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
	return OK;
}
