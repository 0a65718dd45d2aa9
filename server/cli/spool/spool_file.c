#include "cli/spool/spool_file.h"

#include "base/crypto.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SAVE_BYTES = 1 << 20 };

/* A name that nobody can have guessed: /tmp is shared. */
static enum status create(const char *folder, const char *ending, char path[4096], int *fd, struct error *err)
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
	if (create(folder, ending, file->path, &file->fd, why) != OK || is_full(file, folder, why)) {
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
	return OK;
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

static bool write_all(int fd, struct span text)
{
	while (text.len) {
		ssize_t written = write(fd, text.ptr, text.len);
		if (written < 0 && errno != EINTR)
			return false;
		text = span_skip(text, written > 0 ? (size_t)written : 0);
	}
	return true;
}

static enum status save_stream(struct spool *spool, int fd, unsigned *stream, uint64_t *lines, struct error *err)
{
	AUTO_DONE(spool_batch) batch;
	bool is_first = true;

	spool_batch_init(&batch);
	*lines = 0;
	while (spool_wait(spool, 0, 0, 0) == SPOOL_HAS_BATCH) {
		if (spool_take(spool, SAVE_BYTES, &batch, err) != OK) {
			spool_lose_head(spool);
			continue;
		}
		if (!is_first && batch.stream != *stream)
			break;
		*stream = batch.stream;
		is_first = false;
		if (!write_all(fd, buf_span(&batch.text)))
			return error_set(err, ERR_IO, "cannot write what was left over: %s", strerror(errno));
		for (size_t i = 0; i < batch.text.len; i++)
			*lines += batch.text.ptr[i] == '\n';
		spool_release(spool, batch.text.len);
	}
	return OK;
}

enum status spool_save(
	struct spool *spool, const char *folder, unsigned *stream, char path[4096], uint64_t *lines, struct error *err)
{
	int fd = -1;

	if (create(folder, "left", path, &fd, err) != OK)
		TRY(create("/tmp", "left", path, &fd, err));
	enum status status = save_stream(spool, fd, stream, lines, err);
	if (close(fd) != 0 && status == OK)
		status = error_set(err, ERR_IO, "cannot write '%s': %s", path, strerror(errno));
	return status;
}
