#include "base/file_place.h"
#include "store/admin.h"
#include "store/driver/connection.h"
#include "store/sqlite/sqlite_store.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LOCK_MODE = 0600, PID_TEXT_BYTES = 32 };

/* Far behind the bytes that SQLite locks, so that neither sees the other's. */
static const off_t LOCK_AT = (off_t)1 << 62;

static enum status in_use(const char *path, struct span pid, struct error *err)
{
	return error_set(
		err, ERR_CONFLICT, "database '%s' is in use by another server (process %.*s)", path, SPAN_ARGS(pid));
}

static enum status name_owner(int fd, const char *path, struct error *err)
{
	char text[PID_TEXT_BYTES];
	ssize_t got = pread(fd, text, sizeof text, 0);
	struct span pid = span_trim(span_of(text, got > 0 ? (size_t)got : 0));

	return in_use(path, pid.len ? pid : SPAN("unknown"), err);
}

/* For people and for the message above only: what counts is the lock, which ends with its process. */
static enum status write_pid(int fd, const char *name, struct error *err)
{
	char text[PID_TEXT_BYTES];
	int len = snprintf(text, sizeof text, "%ld\n", (long)getpid());

	if (ftruncate(fd, 0) != 0 || !file_write(fd, span_of(text, (size_t)len)))
		return error_set(err, errno == ENOSPC || errno == EDQUOT ? ERR_UNAVAILABLE : ERR_IO,
			"cannot write lock file '%s': %s", name, strerror(errno));
	return OK;
}

/* Beside the file itself: whoever comes by a symbolic link must find the same. */
char *store_beside(const char *path, const char *suffix)
{
	char real[PATH_MAX];
	struct stat info;
	bool is_link = lstat(path, &info) == 0 && S_ISLNK(info.st_mode);

	return path_with(is_link && realpath(path, real) ? real : path, suffix);
}

/*
 * The lock of the name: FILE.lock. It also holds where there is no database yet, and while one is put in the place of another.
 */
static enum status lock_name(int *fd, const char *path, struct error *err)
{
	AUTO_MEM char *name = store_beside(path, ".lock");

	if (!name)
		return error_no_memory(err);
	int lock = open(name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, LOCK_MODE);
	if (lock < 0)
		return error_set(err, errno == EROFS ? ERR_UNAVAILABLE : ERR_IO, "cannot open lock file '%s': %s", name,
			strerror(errno));
	enum status status = OK;
	if (flock(lock, LOCK_EX | LOCK_NB) != 0)
		status = errno == EWOULDBLOCK ? name_owner(lock, path, err)
					      : error_set(err, ERR_IO, "cannot lock '%s': %s", name, strerror(errno));
	if (status != OK) {
		close(lock);
		return status;
	}
	*fd = lock;
	return OK;
}

/*
 * The lock of the file, by whatever name: a hard link, or a FILE.lock that somebody removed, leads to the same one. It is of the
 * open file (F_OFD_SETLK), not of the process: SQLite's own locks, which are the process's, neither meet it nor end it. Its
 * length is its owner's process number, which is all that others can see of it.
 */
static struct flock lock_of(pid_t pid)
{
	return (struct flock){.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = LOCK_AT, .l_len = 1 + (off_t)pid};
}

/* 0: nobody's. */
static pid_t owner_of(int fd)
{
	struct flock held = lock_of(0);

	return fcntl(fd, F_OFD_GETLK, &held) == 0 && held.l_type != F_UNLCK ? (pid_t)(held.l_len - 1) : 0;
}

static enum status lock_file(int fd, const char *path, struct error *err)
{
	struct flock lock = lock_of(getpid());
	char text[PID_TEXT_BYTES];

	if (fcntl(fd, F_OFD_SETLK, &lock) == 0)
		return OK;
	if (errno != EAGAIN && errno != EACCES)
		return error_set(err, ERR_IO, "cannot lock database '%s': %s", path, strerror(errno));
	snprintf(text, sizeof text, "%ld", (long)owner_of(fd));
	return in_use(path, span_from(text), err);
}

enum status lock_take(struct lock *out, const char *path, bool creates, struct error *err)
{
	struct lock lock = LOCK_NONE;
	AUTO_MEM char *name = store_beside(path, ".lock");

	if (!name)
		return error_no_memory(err);
	TRY(lock_name(&lock.name_fd, path, err));
	enum status status = connection_open_file(path, creates, &lock.file_fd, err);
	if (status == OK && lock.file_fd >= 0)
		status = lock_file(lock.file_fd, path, err);
	if (status == OK)
		status = write_pid(lock.name_fd, name, err);
	if (status != OK) {
		lock_release(&lock);
		return status;
	}
	*out = lock;
	return OK;
}

void lock_release(struct lock *lock)
{
	/* FILE.lock stays: removing it would race with the next owner's open. The database's descriptor is closed last of all that
	 * have it open: closing any of them ends the locks that SQLite holds for this process. */
	if (lock->file_fd >= 0)
		close(lock->file_fd);
	if (lock->name_fd >= 0)
		close(lock->name_fd);
	*lock = LOCK_NONE;
}

bool store_is_in_use(const char *path, int64_t *pid)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	*pid = fd >= 0 ? owner_of(fd) : 0;
	if (fd >= 0)
		close(fd);
	return *pid != 0;
}
