/* However a body is cut, the same lines come out, and no line is longer than it may be. */
#include "ingest/ingest.h"

#include <stdlib.h>

static uint64_t run(struct span body, size_t piece, size_t *lines, size_t *rejected)
{
	struct ingest_options options = {
		.max_line_bytes = 32, .job = SPAN("J"), .stream = SPAN("S"), .max_name_bytes = 16, .max_parts = 4};
	struct ingest_parser *parser = NULL;
	struct error err;
	AUTO(batch) batch = batch_new(1);
	uint64_t hash = 0;

	if (!batch || ingest_ndjson.open(&parser, &options, &err))
		abort();
	enum status status = OK;
	while (body.len && !status) {
		status =
			ingest_ndjson.feed(parser, batch, span_of(body.ptr, body.len < piece ? body.len : piece), &err);
		body = span_skip(body, piece);
	}
	if (!status)
		status = ingest_ndjson.finish(parser, batch, &err);
	if (status != OK && status != ERR_TOO_LARGE)
		abort();
	for (size_t i = 0; i < batch->part_count; i++)
		for (size_t j = 0; j < batch->parts[i].count; j++) {
			const struct line *line = &batch->parts[i].lines[j];
			if (line->text.len > options.max_line_bytes || span_find_char(line->text, '\n') >= 0)
				abort();
			hash = hash * 31 + span_hash(line->text) + (uint64_t)line->ts_ms + line->sent_bytes;
		}
	*lines = batch->line_count;
	*rejected = batch->rejected;
	ingest_ndjson.free(parser);
	return hash;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct span body = span_of((const char *)data, size);
	size_t whole_lines, whole_rejected, lines, rejected;
	uint64_t whole = run(body, size + 1, &whole_lines, &whole_rejected);

	if (run(body, size ? data[0] % 13 + 1 : 1, &lines, &rejected) != whole || lines != whole_lines ||
		rejected != whole_rejected)
		abort();
	return 0;
}
