/* However a body is cut, of lines or an array, the same lines come out, and no line is longer than it may be. */
#include "ingest/ingest.h"

#include <stdlib.h>

static uint64_t run(
	const struct ingest_protocol *protocol, struct span body, size_t piece, size_t *lines, size_t *rejected)
{
	struct ingest_options options = {
		.max_line_bytes = 32, .job = SPAN("J"), .stream = SPAN("S"), .max_name_bytes = 16, .max_parts = 4};
	struct ingest_parser *parser = NULL;
	struct error err;
	AUTO(batch) batch = batch_new(1);
	uint64_t hash = 0;

	if (!batch || protocol->open(&parser, &options, &err))
		abort();
	enum status status = OK;
	while (body.len && !status) {
		status = protocol->feed(parser, batch, span_of(body.ptr, body.len < piece ? body.len : piece), &err);
		body = span_skip(body, piece);
	}
	if (!status)
		status = protocol->finish(parser, batch, &err);
	if (status != OK && status != ERR_TOO_LARGE && (protocol == &ingest_ndjson || status != ERR_INVALID))
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
	protocol->free(parser);
	return hash;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void compare(const struct ingest_protocol *protocol, struct span body, size_t piece)
{
	size_t whole_lines, whole_rejected, lines, rejected;
	uint64_t whole = run(protocol, body, body.len + 1, &whole_lines, &whole_rejected);

	if (run(protocol, body, piece, &lines, &rejected) != whole || lines != whole_lines ||
		rejected != whole_rejected)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct span body = span_of((const char *)data, size);
	size_t piece = size ? data[0] % 13 + 1 : 1;

	compare(&ingest_ndjson, body, piece);
	compare(&ingest_json_array, body, piece);
	return 0;
}
