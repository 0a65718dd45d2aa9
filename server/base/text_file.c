#include "base/text_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/* file: NULL with an errno where it could not be opened. */
static enum status read_all(
	FILE *file, const char *path, const char *option, bool is_secret, struct buf *out, struct error *err)
{
	struct stat stat;
	char part[4096];
	size_t got;

	if (!file)
		return error_set_field(err, ERR_IO, option, "%s: %s", path, strerror(errno));
	bool is_open = is_secret && fstat(fileno(file), &stat) == 0 && (stat.st_mode & (S_IRWXG | S_IRWXO));
	while ((got = fread(part, 1, sizeof part, file)) > 0)
		buf_append(out, part, got);
	bool is_bad = ferror(file);
	fclose(file);
	if (is_open)
		return error_set_field(err, ERR_FORBIDDEN, option, "%s can be read by others: chmod 600 it", path);
	if (is_bad)
		return error_set_field(err, ERR_IO, option, "%s cannot be read", path);
	return buf_status(out, err);
}

enum status text_file_read(const char *path, const char *option, struct buf *out, struct error *err)
{
	return read_all(fopen(path, "re"), path, option, false, out, err);
}

enum status text_file_read_secret(const char *path, const char *option, struct buf *out, struct error *err)
{
	return read_all(fopen(path, "re"), path, option, true, out, err);
}

bool text_file_is_own(int fd)
{
	struct stat stat;

	return fstat(fd, &stat) == 0 && S_ISREG(stat.st_mode) && stat.st_uid == geteuid() && stat.st_nlink == 1;
}

enum status text_file_read_own(const char *path, const char *option, struct buf *out, struct error *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK); /* it may be a pipe that nobody writes */

	if (fd < 0 || text_file_is_own(fd))
		return read_all(fd < 0 ? NULL : fdopen(fd, "r"), path, option, false, out, err);
	close(fd);
	return error_set_field(err, ERR_FORBIDDEN, option, "%s is no file of this user's own", path);
}
