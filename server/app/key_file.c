#include "app/key_file.h"

#include "base/buf.h"
#include "base/file_place.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static enum status write_key(const char *path, const unsigned char key[SEAL_KEY_BYTES], struct error *err)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd < 0)
		return file_problem("make the key file", path, err);
	bool is_written =
		fchmod(fd, 0600) == 0 && file_write(fd, span_of((const char *)key, SEAL_KEY_BYTES)) && fsync(fd) == 0;
	enum status status = is_written ? OK : file_problem("write the key file", path, err);
	close(fd);
	return status;
}

/* Where file systems have hard links, nobody's key is overwritten that came meanwhile. */
static enum status put_key(const char *partial, const char *path, struct error *err)
{
	if (link(partial, path) != 0 && (errno == EEXIST || rename(partial, path) != 0))
		return file_problem("make the key file", path, err);
	return file_sync_folder(path, err); /* before anything is sealed by it */
}

enum status key_file_put(const char *path, const unsigned char key[SEAL_KEY_BYTES], struct error *err)
{
	AUTO_DONE(buf) partial = BUF_INIT(PATH_MAX);

	buf_printf(&partial, "%s.partial", path);
	buf_append_char(&partial, 0);
	TRY(buf_status(&partial, err));
	enum status status = write_key(partial.ptr, key, err);
	if (status == OK)
		status = put_key(partial.ptr, path, err);
	unlink(partial.ptr);
	return status;
}

enum status key_file_make(const char *path, unsigned char key[SEAL_KEY_BYTES], struct error *err)
{
	crypto_random(key, SEAL_KEY_BYTES);
	return key_file_put(path, key, err);
}

enum status key_file_read(const char *path, unsigned char key[SEAL_KEY_BYTES], struct error *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat info;

	if (fd < 0)
		return error_set(err, errno == ENOENT ? ERR_NOT_FOUND : ERR_IO, "cannot open the key file '%s': %s",
			path, strerror(errno));
	bool is_known = fstat(fd, &info) == 0, is_private = is_known && !(info.st_mode & 077);
	ssize_t got = is_private ? read(fd, key, SEAL_KEY_BYTES) : -1;
	close(fd);
	if (is_known && !is_private)
		return error_set(err, ERR_FORBIDDEN, "the key file '%s' can be read by others: chmod 600 it", path);
	if (got != SEAL_KEY_BYTES)
		return error_set(err, ERR_IO, "the key file '%s' does not hold %d bytes", path, SEAL_KEY_BYTES);
	return OK;
}

enum status key_file_load(const char *path, unsigned char key[SEAL_KEY_BYTES], struct error *err)
{
	enum status status = key_file_read(path, key, err);

	return status == ERR_NOT_FOUND ? key_file_make(path, key, err) : status;
}
