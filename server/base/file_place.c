#include "base/file_place.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum status file_problem(const char *verb, const char *path, struct error *err)
{
	bool is_full = errno == ENOSPC || errno == EDQUOT || errno == EROFS;

	return error_set(err, is_full ? ERR_UNAVAILABLE : ERR_IO, "cannot %s '%s': %s", verb, path, strerror(errno));
}

bool file_write(int fd, struct span bytes)
{
	while (bytes.len) {
		ssize_t written = write(fd, bytes.ptr, bytes.len);
		if (written < 0 && errno != EINTR)
			return false;
		bytes = span_skip(bytes, written > 0 ? (size_t)written : 0);
	}
	return true;
}

static enum status sync_path(const char *path, int flags, struct error *err)
{
	int fd = open(path, flags | O_CLOEXEC);

	if (fd < 0 || fsync(fd) != 0) {
		enum status status = file_problem("sync", path, err);
		if (fd >= 0)
			close(fd);
		return status;
	}
	close(fd);
	return OK;
}

enum status file_sync_folder(const char *path, struct error *err)
{
	char folder[PATH_MAX];

	if (strlen(path) >= sizeof folder)
		return error_set(err, ERR_INVALID, "the path '%s' is too long", path);
	memcpy(folder, path, strlen(path) + 1);
	return sync_path(dirname(folder), O_RDONLY | O_DIRECTORY, err);
}

enum status file_sync(const char *partial, struct error *err)
{
	return sync_path(partial, O_RDONLY, err);
}

enum status file_put_in_place(const char *partial, const char *path, struct error *err)
{
	TRY(file_sync(partial, err));
	if (rename(partial, path) != 0)
		return file_problem("rename to", path, err);
	return file_sync_folder(path, err);
}
