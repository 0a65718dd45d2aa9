#include "cli/spool/line_body.h"

#include "base/json/json_write.h"

/* The server cuts lines at its limit and counts them whole, but an object longer than its buffer would be refused. */
enum { MAX_JSON_LINE_BYTES = 60 << 10 };

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

static void put_line(struct buf *out, struct span line, int64_t ts_ms)
{
	struct json_writer w = json_writer_on(out);

	json_object(&w);
	json_put_span(&w, "line", line);
	if (ts_ms)
		json_put_i64(&w, "ts", ts_ms);
	json_object_end(&w);
	buf_append_char(out, '\n');
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
		start = batch->runs[i].end;
		while (run.len) {
			span_next(&run, '\n', &line);
			put_line(out, line, batch->runs[i].ts_ms);
		}
	}
	return buf_status(out, err);
}
