/*
 * Plain text: one line after the other. No byte is looked at twice: what is carried over to the next feed holds no newline.
 */
#include "ingest/ingest.h"

#include "base/buf.h"
#include "ingest/lines/lines.h"

struct ingest_parser {
	struct arena *arena; /* of the names */
	struct span job;
	struct span stream;
	struct buf carry; /* the open line as far as it has come, at most max_line_bytes */
	uint64_t lost_bytes; /* of the open line, behind what carry has room for */
};

static void plain_free(struct ingest_parser *parser)
{
	if (!parser)
		return;
	buf_done(&parser->carry);
	arena_free(parser->arena);
	mem_free(parser);
}

static enum status plain_open(struct ingest_parser **out, const struct ingest_options *options, struct error *err)
{
	TRY(ingest_check_name("job", options->job, options->max_name_bytes, err));
	TRY(ingest_check_name("stream", options->stream, options->max_name_bytes, err));
	struct ingest_parser *parser = mem_zeroed(sizeof *parser);
	if (parser && (parser->arena = arena_new())) {
		parser->job = arena_copy(parser->arena, options->job);
		parser->stream = arena_copy(parser->arena, options->stream);
	}
	if (!parser || !parser->arena || !parser->job.ptr || !parser->stream.ptr) {
		plain_free(parser);
		return error_no_memory(err);
	}
	parser->carry = BUF_INIT(options->max_line_bytes);
	*out = parser;
	return OK;
}

static size_t plain_held_bytes(const struct ingest_parser *parser)
{
	return parser->carry.cap;
}

/* Part of a line without its end: kept as far as a line may go. */
static void carry_on(struct ingest_parser *parser, struct span bytes)
{
	size_t room = parser->carry.max_bytes - parser->carry.len;
	size_t kept = bytes.len < room ? bytes.len : room;

	buf_append(&parser->carry, bytes.ptr, kept);
	parser->lost_bytes += bytes.len - kept;
}

/* A line that lies in the fed bytes as a whole, the usual case. */
static bool add_whole(
	const struct ingest_parser *parser, struct batch *batch, struct batch_part *part, struct span text)
{
	size_t max = parser->carry.max_bytes;

	if (text.len <= max)
		return batch_add(batch, part, text, NO_TIME, 0, text.len + 1);
	return batch_add(batch, part, span_of(text.ptr, max), NO_TIME, LINE_CUT, text.len + 1);
}

/* The line that carry holds; newline_bytes is 0 at the end of the body. */
static bool add_carried(
	struct ingest_parser *parser, struct batch *batch, struct batch_part *part, unsigned newline_bytes)
{
	uint64_t sent_bytes = parser->carry.len + parser->lost_bytes + newline_bytes;
	uint32_t flags = (parser->lost_bytes ? LINE_CUT : 0) | (newline_bytes ? 0 : LINE_OPEN_END);

	if (!batch_add(batch, part, buf_span(&parser->carry), NO_TIME, flags, sent_bytes))
		return false;
	ingest_let_go(&parser->carry);
	parser->lost_bytes = 0;
	return true;
}

static enum status plain_feed(struct ingest_parser *parser, struct batch *batch, struct span bytes, struct error *err)
{
	const char *at = bytes.ptr ? bytes.ptr : "", *end = at + bytes.len, *newline;
	struct batch_part *part = NULL;

	for (; at < end && (newline = memchr(at, '\n', (size_t)(end - at))); at = newline + 1) {
		struct span text = span_of(at, (size_t)(newline - at));
		bool is_added;

		if (!part && !(part = batch_part(batch, parser->job, parser->stream)))
			return error_no_memory(err);
		if (parser->carry.len || parser->lost_bytes) {
			carry_on(parser, text);
			TRY(buf_status(&parser->carry, err));
			is_added = add_carried(parser, batch, part, 1);
		} else {
			is_added = add_whole(parser, batch, part, text);
		}
		if (!is_added)
			return error_no_memory(err);
	}
	if (at < end)
		carry_on(parser, span_of(at, (size_t)(end - at)));
	return buf_status(&parser->carry, err);
}

static enum status plain_finish(struct ingest_parser *parser, struct batch *batch, struct error *err)
{
	if (parser->carry.len == 0 && parser->lost_bytes == 0)
		return OK;
	struct batch_part *part = batch_part(batch, parser->job, parser->stream);
	if (!part || !add_carried(parser, batch, part, 0))
		return error_no_memory(err);
	return OK;
}

static struct span plain_warning(const struct ingest_parser *parser)
{
	(void)parser;
	return SPAN("");
}

const struct ingest_protocol ingest_plain = {
	.name = "plain",
	.open = plain_open,
	.feed = plain_feed,
	.finish = plain_finish,
	.warning = plain_warning,
	.held_bytes = plain_held_bytes,
	.free = plain_free,
};
