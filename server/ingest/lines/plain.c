/*
 * Plain text: one line after the other. No byte is looked at twice: what is carried over to the next feed holds no newline.
 */
#include "ingest/ingest.h"

#include "base/buf.h"
#include "ingest/lines/lines.h"

struct ingest_parser {
	struct span job;
	struct span stream;
	struct buf carry; /* the open line as far as it has come, at most max_line_bytes */
	uint64_t lost_bytes; /* of the open line, behind what carry has room for */
	char names[];
};

static void plain_free(struct ingest_parser *parser)
{
	if (!parser)
		return;
	buf_done(&parser->carry);
	mem_free(parser);
}

static enum status plain_open(struct ingest_parser **out, const struct ingest_options *options, struct error *err)
{
	TRY(ingest_check_name("job", options->job, options->max_name_bytes, err));
	TRY(ingest_check_name("stream", options->stream, options->max_name_bytes, err));
	struct ingest_parser *parser = mem_alloc(sizeof *parser + options->job.len + options->stream.len);
	if (!parser)
		return error_no_memory(err);
	*parser = (struct ingest_parser){.job = span_of(parser->names, options->job.len),
		.stream = span_of(parser->names + options->job.len, options->stream.len),
		.carry = BUF_INIT(options->max_line_bytes)};
	memcpy(parser->names, options->job.ptr, options->job.len);
	memcpy(parser->names + options->job.len, options->stream.ptr, options->stream.len);
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

static size_t count_lines(struct span bytes)
{
	struct span rest = bytes, text;
	size_t count = 0;

	while (span_next(&rest, '\n', &text))
		count++;
	return count;
}

/* Lines that lie in the fed bytes as a whole, the usual case: they are copied together. */
static enum status add_whole(const struct ingest_parser *parser, struct batch *batch, struct batch_part *part,
	struct span bytes, struct error *err)
{
	struct span rest = batch_keep(batch, bytes), text;
	size_t max = parser->carry.max_bytes;

	if (!rest.ptr || !batch_expect(part, count_lines(bytes)))
		return error_no_memory(err);
	while (rest.len) {
		text = span_of(rest.ptr, (size_t)((const char *)memchr(rest.ptr, '\n', rest.len) - rest.ptr));
		rest = span_skip(rest, text.len + 1);
		bool is_cut = text.len > max;
		if (!batch_add_kept(batch, part, span_of(text.ptr, is_cut ? max : text.len), NO_TIME,
			    is_cut ? LINE_CUT : 0, text.len + 1))
			return error_no_memory(err);
	}
	return OK;
}

static enum status plain_feed(struct ingest_parser *parser, struct batch *batch, struct span bytes, struct error *err)
{
	const char *last = bytes.len ? memrchr(bytes.ptr, '\n', bytes.len) : NULL;
	struct span whole = span_of(bytes.ptr, last ? (size_t)(last + 1 - bytes.ptr) : 0);
	struct span open = span_skip(bytes, whole.len);
	struct batch_part *part = last ? batch_part(batch, parser->job, parser->stream) : NULL;

	if (last && !part)
		return error_no_memory(err);
	if (last && (parser->carry.len || parser->lost_bytes)) {
		size_t first = (size_t)span_find_char(whole, '\n');
		carry_on(parser, span_of(whole.ptr, first));
		TRY(buf_status(&parser->carry, err));
		if (!add_carried(parser, batch, part, 1))
			return error_no_memory(err);
		whole = span_skip(whole, first + 1);
	}
	if (whole.len)
		TRY(add_whole(parser, batch, part, whole, err));
	if (open.len)
		carry_on(parser, open);
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
