#include "ingest/lines.h"

enum { KEPT_BYTES = 128 << 10 };

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
