#include "cli/spool/line_body.h"

#include "base/json/json_write.h"

#include <inttypes.h>
#include <stdio.h>

/* The server cuts lines at its limit and counts them whole, but an object longer than its buffer would be refused. */
enum { MAX_JSON_LINE_BYTES = 60 << 10, LINE_END_BYTES = 48 };

static bool can_be_json(struct span text)
{
	struct span line;

	if (memchr(text.ptr, 0, text.len) || !span_is_utf8(text))
		return false;
	while (span_next(&text, '\n', &line))
		if (line.len > MAX_JSON_LINE_BYTES)
			return false;
	return true;
}

/* What stands behind each line of a run. */
static struct span line_end(int64_t ts_ms, char out[LINE_END_BYTES])
{
	int len = ts_ms ? snprintf(out, LINE_END_BYTES, ",\"ts\":%" PRId64 "}\n", ts_ms)
			: snprintf(out, LINE_END_BYTES, "}\n");

	return span_of(out, (size_t)len);
}

static void put_line(struct buf *out, struct span line, struct span end)
{
	struct json_writer w = json_writer_on(out);

	buf_append_span(out, SPAN("{\"line\":"));
	json_span(&w, line);
	buf_append_span(out, end);
}

enum status line_body_put(
	const struct spool_batch *batch, struct buf *out, const char **content_type, struct error *err)
{
	struct span text = buf_span(&batch->text);
	size_t start = 0;

	if (!can_be_json(text)) {
		*content_type = "text/plain";
		buf_append_span(out, text);
		return buf_status(out, err);
	}
	*content_type = "application/x-ndjson";
	for (size_t i = 0; i < batch->run_count; i++) {
		struct span run = span_of(text.ptr + start, batch->runs[i].end - start), line;
		char end_text[LINE_END_BYTES];
		struct span end = line_end(batch->runs[i].ts_ms, end_text);
		start = batch->runs[i].end;
		while (run.len) {
			span_next(&run, '\n', &line);
			put_line(out, line, end);
		}
	}
	return buf_status(out, err);
}
