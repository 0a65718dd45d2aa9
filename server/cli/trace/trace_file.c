#include "cli/trace/trace_file.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

enum { READ_BYTES = 256 << 10 };

enum status trace_file_open(struct trace_file *file, const char *path, struct error *err)
{
	file->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (file->fd < 0)
		return error_set(err, ERR_IO, "it cannot be opened: %s", strerror(errno));
	if (fstat(file->fd, &file->info) != 0)
		return error_set(err, ERR_IO, "it cannot be looked at: %s", strerror(errno));
	if (!S_ISREG(file->info.st_mode))
		return error_set(err, ERR_INVALID, "it is no file: a trace is read more than once");
	file->room = mem_alloc(READ_BYTES);
	return file->room ? OK : error_no_memory(err);
}

void trace_file_done(struct trace_file *file)
{
	if (file->fd >= 0)
		close(file->fd);
	inflater_free(file->inflater);
	mem_free(file->room);
	*file = TRACE_FILE_NONE;
}

static enum status check_same(const struct trace_file *file, struct error *err)
{
	struct stat now;

	if (fstat(file->fd, &now) != 0)
		return error_set(err, ERR_IO, "it cannot be looked at: %s", strerror(errno));
	if (now.st_size != file->info.st_size || now.st_mtim.tv_sec != file->info.st_mtim.tv_sec ||
		now.st_mtim.tv_nsec != file->info.st_mtim.tv_nsec)
		return error_set(err, ERR_BUSY, "it is being written: it changed while it was read");
	return OK;
}

static enum status read_some(struct trace_file *file, struct error *err)
{
	ssize_t got;

	do
		got = read(file->fd, file->room, READ_BYTES);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return error_set(err, ERR_IO, "it cannot be read: %s", strerror(errno));
	file->packed = span_of(file->room, (size_t)got);
	return got ? OK : check_same(file, err);
}

static enum encoding find_encoding(struct span start)
{
	if (span_starts_with(start, SPAN("\x1f\x8b")))
		return ENCODING_GZIP;
	return span_starts_with(start, SPAN("\x28\xb5\x2f\xfd")) ? ENCODING_ZSTD : ENCODING_IDENTITY;
}

enum status trace_file_rewind(struct trace_file *file, struct error *err)
{
	TRY(check_same(file, err));
	if (lseek(file->fd, 0, SEEK_SET) != 0)
		return error_set(err, ERR_IO, "it cannot be read again: %s", strerror(errno));
	file->plain = SPAN("");
	TRY(read_some(file, err));
	enum encoding encoding = find_encoding(file->packed);
	inflater_free(TAKE(file->inflater));
	file->is_packed = encoding != ENCODING_IDENTITY;
	return inflater_new(&file->inflater, encoding, 0, err);
}

/* The inflater speaks of bodies of requests. */
static enum status say_damaged(enum status status, const char *what, struct error *err)
{
	return status == ERR_INVALID ? error_set(err, ERR_INVALID, "what it is packed in %s", what) : status;
}

/* *is_end: nothing more comes. */
static enum status unpack(struct trace_file *file, bool *is_end, struct error *err)
{
	while (!file->plain.len) {
		if (file->packed.len) {
			TRY(say_damaged(
				inflater_step(file->inflater, &file->packed, &file->plain, err), "is damaged", err));
			continue;
		}
		TRY(read_some(file, err));
		if (!file->packed.len) {
			*is_end = true;
			return say_damaged(inflater_end(file->inflater, err), "is cut off", err);
		}
	}
	return OK;
}

enum status trace_file_read(void *context, char *room, size_t bytes, size_t *got, struct error *err)
{
	struct trace_file *file = context;
	bool is_end = false;

	*got = 0;
	TRY(unpack(file, &is_end, err));
	if (is_end)
		return OK;
	*got = bytes < file->plain.len ? bytes : file->plain.len;
	memcpy(room, file->plain.ptr, *got);
	file->plain = span_skip(file->plain, *got);
	return OK;
}
