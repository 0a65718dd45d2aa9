#include "cli/process/first_time.h"

#include "base/alloc.h"
#include "base/text/line_time.h"

#include <unistd.h>

enum { CHUNK_BYTES = 64 << 10 };

/* The lines of one chunk, whose first may be the rest of one; *used: what of it need not be read again. */
static bool find_in(struct span chunk, bool *is_within, int64_t now_ms, size_t *used, int64_t *ts_ms)
{
	struct span rest = chunk;

	for (ptrdiff_t end; (end = span_find_char(rest, '\n')) >= 0; rest = span_skip(rest, (size_t)end + 1)) {
		if (!*is_within && line_time_parse(span_of(rest.ptr, (size_t)end), now_ms, ts_ms))
			return true;
		*is_within = false;
	}
	*used = chunk.len - rest.len;
	if (*used && chunk.len == CHUNK_BYTES)
		return false;
	/* the file's last line, or one that is longer than a chunk */
	if (!*is_within && line_time_parse(rest, now_ms, ts_ms))
		return true;
	*used = chunk.len;
	*is_within = true;
	return false;
}

bool first_time_find(int fd, int64_t now_ms, int64_t *ts_ms)
{
	AUTO_MEM char *bytes = mem_alloc(CHUNK_BYTES);
	bool is_within = false;
	size_t used;

	if (!bytes)
		return false; /* the file's own time does */
	for (off_t at = 0; at < FIRST_TIME_SEARCHED_BYTES; at += (off_t)used) {
		ssize_t got = pread(fd, bytes, CHUNK_BYTES, at);
		if (got <= 0)
			return false;
		if (find_in(span_of(bytes, (size_t)got), &is_within, now_ms, &used, ts_ms))
			return true;
	}
	return false;
}

bool last_time_find(int fd, uint64_t size, int64_t now_ms, int64_t *ts_ms)
{
	AUTO_MEM char *bytes = mem_alloc(CHUNK_BYTES);
	uint64_t at = size > CHUNK_BYTES ? size - CHUNK_BYTES : 0;
	ssize_t got = bytes ? pread(fd, bytes, (size_t)(size - at), (off_t)at) : 0;
	struct span rest = span_of(bytes, got > 0 ? (size_t)got : 0);
	bool is_within = at > 0, has_any = false;

	for (ptrdiff_t end; (end = span_find_char(rest, '\n')) >= 0; rest = span_skip(rest, (size_t)end + 1)) {
		if (!is_within)
			has_any |= line_time_parse(span_of(rest.ptr, (size_t)end), now_ms, ts_ms);
		is_within = false;
	}
	return has_any;
}
