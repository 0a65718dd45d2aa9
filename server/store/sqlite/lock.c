#include "store/sqlite/sqlite_store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
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

enum status lock_take(int *fd, const char *path, struct error *err)
{
	AUTO_MEM char *name = path_with(path, ".lock");

	if (!name)
		return error_set(err, ERR_MEMORY, "out of memory");
	int lock = open(name, O_RDWR | O_CREAT | O_CLOEXEC, LOCK_MODE);
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
