#include "cli/input/line_reader.h"

#include "base/clock.h"

#include <errno.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	READ_BYTES = LINE_READER_BYTES,
	MAX_PENDING_BYTES = SPOOL_MAX_LINE_BYTES,
};

void line_reader_init(struct line_reader *reader, int fd, int pass_fd, unsigned source)
{
	*reader = (struct line_reader){.fd = fd,
		.pass_fd = pass_fd,
		.source = source,
		.is_first = true,
		.pending = BUF_INIT(MAX_PENDING_BYTES + 2 * READ_BYTES)};
}

void line_reader_done(struct line_reader *reader)
{
	buf_done(&reader->pending);
}

/* The reader of our output may be slow, which is his right; gone, and we go on without him. */
static void pass_through(struct line_reader *reader, struct span bytes)
{
	while (bytes.len && reader->pass_fd >= 0) {
		ssize_t written = write(reader->pass_fd, bytes.ptr, bytes.len);
		if (written >= 0)
			bytes = span_skip(bytes, (size_t)written);
		else if (errno == EAGAIN)
			poll(&(struct pollfd){.fd = reader->pass_fd, .events = POLLOUT}, 1, -1);
		else if (errno != EINTR)
			reader->pass_fd = -1;
	}
}

static void put(struct line_reader *reader, struct spool *spool, struct span lines, bool has_open_end)
{
	uint64_t start = reader->read_at - reader->pending.len;
	bool is_now = reader->says_times && start >= reader->old_to;
	int64_t ts_ms = reader->ts_ms ? reader->ts_ms : is_now ? clock_wall_ms() : 0;

	if (reader->is_pipe)
		spool_write(spool, reader->source, lines, has_open_end, ts_ms);
	else if (has_open_end)
		spool_put_open_end(spool, reader->source, lines, start, ts_ms);
	else
		spool_put(spool, reader->source, lines, start, ts_ms);
}

/* Whole lines leave pending; an endless line leaves it in pieces. */
static void put_pending(struct line_reader *reader, struct spool *spool, bool is_last)
{
	struct span text = buf_span(&reader->pending);
	const char *end = text.len ? memrchr(text.ptr, '\n', text.len) : NULL;
	size_t whole = end ? (size_t)(end - text.ptr) + 1 : 0;

	if (whole) {
		put(reader, spool, span_of(text.ptr, whole), false);
		memmove(reader->pending.ptr, reader->pending.ptr + whole, text.len - whole);
		reader->pending.len -= whole;
	}
	if (reader->pending.len && (is_last || reader->pending.len >= MAX_PENDING_BYTES)) {
		put(reader, spool, buf_span(&reader->pending), true);
		reader->pending.len = 0;
	}
}

/* What was punched out of an old spool file reads as NULs. */
static void skip_hole(struct line_reader *reader)
{
	off_t data = lseek(reader->fd, 0, SEEK_DATA);
	char c = 1;

	if (data > 0) {
		reader->read_at = (uint64_t)data;
		while (pread(reader->fd, &c, 1, (off_t)reader->read_at) == 1 && c == 0)
			reader->read_at++;
	}
}

/* From read_at to the next data, or the end; 0: there is none. */
static uint64_t hole_at(const struct line_reader *reader)
{
	off_t data = lseek(reader->fd, (off_t)reader->read_at, SEEK_DATA);
	struct stat info;

	if (data < 0 && errno == ENXIO && fstat(reader->fd, &info) == 0)
		data = info.st_size;
	return data > (off_t)reader->read_at ? (uint64_t)data - reader->read_at : 0;
}

/* How many bytes to read: not into a hole. */
static size_t bytes_to_hole(const struct line_reader *reader)
{
	off_t hole = lseek(reader->fd, (off_t)reader->read_at, SEEK_HOLE);

	if (hole <= (off_t)reader->read_at || hole - (off_t)reader->read_at > READ_BYTES)
		return READ_BYTES;
	return (size_t)(hole - (off_t)reader->read_at);
}

static void tell_lost(struct line_reader *reader, struct spool *spool)
{
	if (reader->lost_bytes)
		spool_put_piece(spool, reader->source,
			&(struct spool_piece){.start = reader->read_at - reader->pending.len,
				.end = reader->read_at - reader->pending.len,
				.lost_lines = 1,
				.lost_bytes = reader->lost_bytes,
				.lost_to = SPOOL_LOST_TO_HOLE,
				.ts_ms = reader->ts_ms});
	reader->lost_bytes = 0;
}

/* The line that a hole begins in is lost with it. */
static void pass_hole(struct line_reader *reader)
{
	uint64_t bytes = hole_at(reader);

	if (!bytes)
		return;
	reader->lost_bytes += reader->pending.len + bytes;
	reader->pending.len = 0;
	reader->read_at += bytes;
}

/* And the one that it ends in. */
static void pass_line_of_hole(struct line_reader *reader, struct spool *spool)
{
	ptrdiff_t end = span_find_char(buf_span(&reader->pending), '\n');
	size_t passed = end < 0 ? reader->pending.len : (size_t)end + 1;

	if (!reader->lost_bytes)
		return;
	reader->lost_bytes += passed;
	reader->pending.len -= passed;
	memmove(reader->pending.ptr, reader->pending.ptr + passed, reader->pending.len);
	if (end >= 0)
		tell_lost(reader, spool);
}

static void keep_head(struct line_reader *reader)
{
	if (reader->is_pipe || reader->head_len == LINE_READER_HEAD_BYTES)
		return;
	ssize_t got = pread(reader->fd, reader->head, LINE_READER_HEAD_BYTES, 0);
	if (got > 0)
		reader->head_len = (size_t)got;
}

bool line_reader_knows(const struct line_reader *reader, int fd)
{
	char head[LINE_READER_HEAD_BYTES];

	return pread(fd, head, reader->head_len, 0) == (ssize_t)reader->head_len &&
	       memcmp(head, reader->head, reader->head_len) == 0;
}

size_t line_reader_read(struct line_reader *reader, struct spool *spool)
{
	ssize_t got;

	if (reader->has_holes)
		pass_hole(reader);
	else if (reader->is_first && !reader->is_pipe && reader->read_at == 0)
		skip_hole(reader);
	reader->is_first = false;
	size_t len = reader->has_holes ? bytes_to_hole(reader) : READ_BYTES;
	char *room = buf_reserve(&reader->pending, len);
	if (!room)
		return 0;
	do {
		got = reader->is_pipe ? read(reader->fd, room, len)
				      : pread(reader->fd, room, len, (off_t)reader->read_at);
	} while (got < 0 && errno == EINTR);
	if (got <= 0)
		return 0;
	keep_head(reader);
	reader->read_at += (uint64_t)got;
	buf_advance(&reader->pending, (size_t)got);
	pass_through(reader, span_of(room, (size_t)got));
	pass_line_of_hole(reader, spool);
	put_pending(reader, spool, false);
	return (size_t)got;
}

void line_reader_finish(struct line_reader *reader, struct spool *spool)
{
	tell_lost(reader, spool);
	put_pending(reader, spool, true);
}
