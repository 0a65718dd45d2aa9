#include "app/key_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum status key_file_put(const char *path, const unsigned char key[SEAL_KEY_BYTES], struct error *err)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (fd < 0)
		return error_set(err, ERR_IO, "cannot make the key file '%s': %s", path, strerror(errno));
	bool is_written = write(fd, key, SEAL_KEY_BYTES) == SEAL_KEY_BYTES && fsync(fd) == 0;
	int problem = errno;
	close(fd);
	if (is_written)
		return OK;
	unlink(path);
	return error_set(err, ERR_IO, "cannot write the key file '%s': %s", path, strerror(problem));
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
