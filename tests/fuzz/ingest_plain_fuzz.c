/* Every byte of the body is counted once, however it is cut, and short lines come back as they were. */
#include "ingest/ingest.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ingest_options options = {
		.max_line_bytes = 8, .job = SPAN("J"), .stream = SPAN("S"), .max_name_bytes = 16, .max_parts = 4};
	struct span body = span_of((const char *)data, size);
	struct ingest_parser *parser = NULL;
	struct error err;
	AUTO(batch) batch = batch_new(1);
	size_t piece = size ? data[0] % 13 + 1 : 1, at = 0;

	if (!batch || ingest_plain.open(&parser, &options, &err))
		abort();
	for (struct span rest = body; rest.len; rest = span_skip(rest, piece))
		if (ingest_plain.feed(parser, batch, span_of(rest.ptr, rest.len < piece ? rest.len : piece), &err))
			abort();
	if (ingest_plain.finish(parser, batch, &err))
		abort();
	for (size_t i = 0; batch->part_count && i < batch->parts[0].count; i++) {
		const struct line *line = &batch->parts[0].lines[i];
		if (!span_equal(line->text, span_of(body.ptr + at, line->text.len)))
			abort();
		at += line->sent_bytes;
		if (!(line->flags & LINE_OPEN_END) && body.ptr[at - 1] != '\n')
			abort();
	}
	if (at != size)
		abort();
	ingest_plain.free(parser);
	return 0;
}
