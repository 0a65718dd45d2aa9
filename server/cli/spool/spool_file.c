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

enum {
	SAVE_BYTES = 1 << 20,
	SAME_TIME_MS = 1000,
	MANY_TIMES = 100000, /* then a minute is one time */
	MANY_SAME_TIME_MS = 60000,
};

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
	(void)flock(file->append_fd, LOCK_SH | LOCK_NB); /* held by all who inherit it: see spool_file_is_written */
	return OK;
}

bool spool_file_is_written(int fd)
{
	return flock(fd, LOCK_EX | LOCK_NB) != 0;
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

enum status spool_times_add(struct spool_times *times, size_t end, int64_t ts_ms, struct error *err)
{
	struct spool_run *last = times->count ? &times->items[times->count - 1] : NULL;
	int64_t within_ms = times->count < MANY_TIMES ? SAME_TIME_MS : MANY_SAME_TIME_MS;

	if (last && ts_ms >= last->ts_ms && ts_ms - last->ts_ms < within_ms) {
		last->end = end;
		return OK;
	}
	if (!mem_grow((void **)&times->items, times->count, &times->cap, sizeof *times->items))
		return error_no_memory(err);
	times->items[times->count++] = (struct spool_run){.end = end, .ts_ms = ts_ms};
	return OK;
}

void spool_times_done(struct spool_times *times)
{
	mem_free(times->items);
	*times = (struct spool_times){0};
}

static enum status save_batch(
	const struct spool_batch *batch, int fd, size_t at, struct spool_saved *saved, struct error *err)
{
	for (size_t i = 0; i < batch->run_count; i++)
		TRY(spool_times_add(&saved->times, at + batch->runs[i].end, batch->runs[i].ts_ms, err));
	if (!file_write(fd, buf_span(&batch->text)))
		return error_set(err, ERR_IO, "cannot write what was left over: %s", strerror(errno));
	for (size_t i = 0; i < batch->text.len; i++)
		saved->lines += batch->text.ptr[i] == '\n';
	return OK;
}

static enum status save_stream(struct spool *spool, int fd, struct spool_saved *saved, struct error *err)
{
	AUTO_DONE(spool_batch) batch;
	size_t at = 0;

	spool_batch_init(&batch);
	while (spool_wait(spool, 0, 0, 0) == SPOOL_HAS_BATCH) {
		if (spool_take(spool, SAVE_BYTES, &batch, err) != OK) {
			spool_lose_head(spool);
			continue;
		}
		if (at && batch.stream != saved->stream)
			break;
		saved->stream = batch.stream;
		TRY(save_batch(&batch, fd, at, saved, err));
		at += batch.text.len;
		spool_release(spool, batch.text.len);
	}
	return OK;
}

enum status spool_save(struct spool *spool, const char *folder, struct spool_saved *saved, struct error *err)
{
	int fd = -1;

	saved->lines = 0;
	spool_times_done(&saved->times);
	if (create(folder, "left", saved->path, &fd, err) != OK)
		TRY(create("/tmp", "left", saved->path, &fd, err));
	enum status status = save_stream(spool, fd, saved, err);
	if (close(fd) != 0 && status == OK)
		status = error_set(err, ERR_IO, "cannot write '%s': %s", saved->path, strerror(errno));
	return status;
}
