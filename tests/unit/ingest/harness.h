/* Feeds a body in pieces of one size and shows the batch as text. */
#pragma once

#include "base/buf.h"
#include "ingest/ingest.h"
#include "test.h"

static const struct ingest_options test_options = {
	.max_line_bytes = 16,
	.job = {"J", 1},
	.stream = {"algo-1", 6},
	.max_name_bytes = 255,
	.max_parts = 3,
};

static inline enum status feed_all(const struct ingest_protocol *protocol, struct ingest_parser *parser,
	struct batch *batch, struct span body, size_t piece, struct error *err)
{
	while (body.len) {
		struct span bytes = span_of(body.ptr, body.len < piece ? body.len : piece);
		TRY(protocol->feed(parser, batch, bytes, err));
		body = span_skip(body, piece);
	}
	return protocol->finish(parser, batch, err);
}

/* "job/stream:" and then "|text@ts^flags#sent_bytes" a line; zero flags and times that are not there are left out. */
static inline void show(const struct batch *batch, struct buf *out)
{
	for (size_t i = 0; i < batch->part_count; i++) {
		const struct batch_part *part = &batch->parts[i];
		buf_printf(out, "%.*s/%.*s:", SPAN_ARGS(part->job), SPAN_ARGS(part->stream));
		for (size_t j = 0; j < part->count; j++) {
			const struct line *line = &part->lines[j];
			buf_append_char(out, '|');
			buf_append_span(out, line->text);
			if (line->ts_ms != NO_TIME)
				buf_printf(out, "@%lld", (long long)line->ts_ms);
			if (line->flags)
				buf_printf(out, "^%u", line->flags);
			buf_printf(out, "#%llu", (unsigned long long)line->sent_bytes);
		}
		buf_append_char(out, '\n');
	}
}

/* The same result however the body is cut. The warning, if wanted, is that of the last run. */
static inline void check_body(const struct ingest_protocol *protocol, struct span body, struct span want,
	size_t rejected, const char *warning)
{
	for (size_t piece = 1; piece <= body.len + 1; piece++) {
		AUTO(batch) batch = batch_new(1);
		AUTO_DONE(buf) shown = BUF_INIT(1 << 20);
		struct ingest_parser *parser;
		CHECK_OK(protocol->open(&parser, &test_options, &err));
		CHECK_OK(feed_all(protocol, parser, batch, body, piece, &err));
		show(batch, &shown);
		CHECK_SPAN(buf_span(&shown), want);
		CHECK_INT(batch->rejected, rejected);
		struct span got = protocol->warning(parser);
		if (warning && span_find(got, span_from(warning)) < 0)
			test_fail(__FILE__, __LINE__, "'%.*s' does not say '%s'", SPAN_ARGS(got), warning);
		if (!warning)
			CHECK_SPAN(got, SPAN(""));
		protocol->free(parser);
	}
}
