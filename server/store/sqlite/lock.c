#include "store/sqlite/sqlite_store.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

enum { LOCK_MODE = 0600, PID_TEXT_BYTES = 32 };

static enum status name_owner(int fd, const char *path, struct error *err)
{
	char text[PID_TEXT_BYTES];
	ssize_t got = pread(fd, text, sizeof text, 0);
	struct span pid = span_trim(span_of(text, got > 0 ? (size_t)got : 0));

	if (!pid.len)
		pid = SPAN("unknown");
	return error_set(
		err, ERR_CONFLICT, "database '%s' is in use by another server (process %.*s)", path, SPAN_ARGS(pid));
}

/* For people and for the message above only: what counts is the lock, which ends with its process. */
static enum status write_pid(int fd, const char *name, struct error *err)
{
	char text[PID_TEXT_BYTES];
	int len = snprintf(text, sizeof text, "%ld\n", (long)getpid());

	if (ftruncate(fd, 0) != 0 || pwrite(fd, text, (size_t)len, 0) != len)
		return error_set(err, errno == ENOSPC || errno == EDQUOT ? ERR_UNAVAILABLE : ERR_IO,
			"cannot write lock file '%s': %s", name, strerror(errno));
	return OK;
}

/* Beside the file itself: a server that comes by a symbolic link must meet the same lock. */
static char *lock_name(const char *path)
{
	char real[PATH_MAX];

	return path_with(realpath(path, real) ? real : path, ".lock"); /* it fails where there is no database yet */
}

enum status lock_take(int *fd, const char *path, struct error *err)
{
	AUTO_MEM char *name = lock_name(path);

	if (!name)
		return error_set(err, ERR_MEMORY, "out of memory");
	int lock = open(name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, LOCK_MODE);
	if (lock < 0)
		return error_set(err, errno == EROFS ? ERR_UNAVAILABLE : ERR_IO, "cannot open lock file '%s': %s", name,
			strerror(errno));
	enum status status = OK;
	if (flock(lock, LOCK_EX | LOCK_NB) != 0)
		status = errno == EWOULDBLOCK ? name_owner(lock, path, err)
					      : error_set(err, ERR_IO, "cannot lock '%s': %s", name, strerror(errno));
	if (status == OK)
		status = write_pid(lock, name, err);
	if (status != OK) {
		close(lock);
		return status;
	}
	*fd = lock;
	return OK;
}

void lock_release(int fd)
{
	/* The file stays: removing it would race with the next owner's open. */
	if (fd >= 0)
		close(fd);
}
