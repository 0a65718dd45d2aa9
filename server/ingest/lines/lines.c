#include "ingest/lines/lines.h"

enum { KEPT_BYTES = 128 << 10, LINES_ALWAYS = 1024, LINE_SHARE_BYTES = 12 };

bool ingest_add_lines(
	struct batch *batch, struct batch_part *part, struct span text, int64_t ts_ms, size_t max_line_bytes)
{
	struct span rest = text, line;

	if (rest.len && rest.ptr[rest.len - 1] == '\n')
		rest.len--;
	if (!rest.len)
		rest = SPAN("");
	while (span_next(&rest, '\n', &line)) {
		bool is_cut = line.len > max_line_bytes;
		uint64_t sent_bytes = line.len + 1;
		if (is_cut)
			line.len = max_line_bytes;
		if (!batch_add(batch, part, line, ts_ms, is_cut ? LINE_CUT : 0, sent_bytes))
			return false;
	}
	return true;
}

size_t ingest_lines_max(size_t bytes)
{
	return LINES_ALWAYS + bytes / LINE_SHARE_BYTES;
}

size_t ingest_count_lines(struct span text)
{
	const char *at = text.ptr, *end = at + text.len;
	size_t count = 1;

	if (text.len == 0)
		return count;
	for (end -= end[-1] == '\n'; at < end && (at = memchr(at, '\n', (size_t)(end - at))); at++)
		count++;
	return count;
}

void ingest_let_go(struct buf *carry)
{
	size_t max_bytes = carry->max_bytes;

	if (carry->cap <= KEPT_BYTES) {
		buf_reset(carry);
		return;
	}
	buf_done(carry);
	*carry = BUF_INIT(max_bytes);
}
