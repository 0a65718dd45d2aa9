#include "cli/spool/spool_file.h"

#include "base/crypto.h"
#include "base/file_place.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* A name that nobody can have guessed: /tmp is shared. */
enum status spool_file_create(const char *folder, const char *ending, char path[4096], int *fd, struct error *err)
{
	unsigned char random[4];
	char hex[2 * sizeof random + 1];

	crypto_random(random, sizeof random);
	crypto_hex(random, sizeof random, hex);
	if (snprintf(path, 4096, "%s/sm-ship-%d-%s.%s", folder, (int)getpid(), hex, ending) >= 4096)
		return error_set(err, ERR_INVALID, "spool folder '%.300s' has too long a name", folder);
	if (mkdir(folder, 0700) != 0 && errno != EEXIST)
		return error_set(err, ERR_IO, "cannot make spool folder '%s': %s", folder, strerror(errno));
	*fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (*fd < 0)
		return error_set(err, ERR_IO, "cannot create spool file '%s': %s", path, strerror(errno));
	(void)fcntl(*fd, F_SETFL, O_NOATIME); /* its owner's right alone; some shares give what we create to another */
	return OK;
}

/* There the child would be refused its output. */
static bool is_full(struct spool_file *file, const char *folder, struct error *why)
{
	uint64_t free_bytes = spool_disk_free(file->fd);

	if (free_bytes > SPOOL_MIN_FREE_BYTES)
		return false;
	error_set(why, ERR_IO, "the disk of spool folder '%s' has only %llu bytes free", folder,
		(unsigned long long)free_bytes);
	spool_file_done(file);
	return true;
}

enum status spool_file_open(
	struct spool_file *file, const char *folder, const char *ending, struct error *why, struct error *err)
{
	char again[64];

	*file = SPOOL_FILE_NONE;
	if (spool_file_create(folder, ending, file->path, &file->fd, why) != OK || is_full(file, folder, why)) {
		file->path[0] = 0;
		file->fd = memfd_create("sm-ship", MFD_CLOEXEC);
		if (file->fd < 0)
			return error_set(
				err, ERR_IO, "%s; and no memory for it either: %s", why->text, strerror(errno));
	}
	snprintf(again, sizeof again, "/proc/self/fd/%d", file->fd);
	file->append_fd = open(file->path[0] ? file->path : again, O_WRONLY | O_APPEND | O_CLOEXEC);
	if (file->append_fd < 0)
		return error_set(err, ERR_IO, "cannot open spool file '%s': %s", file->path, strerror(errno));
	(void)flock(file->append_fd, LOCK_SH | LOCK_NB); /* held by all who inherit it: see spool_file_is_written */
	return OK;
}

int spool_file_reserve(const char *folder, size_t bytes)
{
	int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (fd >= 0 && fallocate(fd, 0, 0, (off_t)bytes) != 0) {
		close(fd);
		fd = -1;
	}
	return fd;
}

bool spool_file_is_written(int fd)
{
	return flock(fd, LOCK_EX | LOCK_NB) != 0;
}

void spool_file_keep(struct spool_file *file)
{
	file->path[0] = 0;
}

void spool_file_done(struct spool_file *file)
{
	if (file->fd >= 0)
		close(file->fd);
	if (file->append_fd >= 0)
		close(file->append_fd);
	if (file->fd >= 0 && file->path[0])
		unlink(file->path);
	*file = SPOOL_FILE_NONE;
}
