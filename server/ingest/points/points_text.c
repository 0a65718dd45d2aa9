#include "ingest/points/points_text.h"

#include <inttypes.h>
#include <stdio.h>

enum { WARNING_BYTES = 2048, TOLD_REJECTIONS = 3 };
static const double STEP_LIMIT = 9007199254740992.0;

void points_text_free(struct ingest_parser *parser)
{
	if (!parser)
		return;
	buf_done(&parser->carry);
	buf_done(&parser->metric);
	buf_done(&parser->text);
	buf_done(&parser->warnings);
	arena_free(parser->arena);
	mem_free(parser);
}

enum status points_text_open(struct ingest_parser **out, const struct ingest_options *options,
	enum status (*take_line)(struct ingest_parser *, struct batch *, struct span, struct error *),
	struct error *err)
{
	TRY(ingest_check_name("job", options->job, options->max_name_bytes, err));
	TRY(ingest_check_name("stream", options->stream, options->max_name_bytes, err));
	struct ingest_parser *parser = mem_zeroed(sizeof *parser);
	if (parser && (parser->arena = arena_new())) {
		parser->options = *options;
		parser->options.job = arena_copy(parser->arena, options->job);
		parser->options.stream = arena_copy(parser->arena, options->stream);
		parser->options.more_labels = arena_copy(parser->arena, options->more_labels);
	}
	if (!parser || !parser->arena || !parser->options.job.ptr || !parser->options.stream.ptr ||
		!parser->options.more_labels.ptr) {
		points_text_free(parser);
		return error_no_memory(err);
	}
	parser->take_line = take_line;
	parser->carry = parser->metric = parser->text = BUF_INIT(options->max_points_bytes);
	parser->warnings = BUF_INIT(WARNING_BYTES);
	*out = parser;
	return OK;
}

void points_text_reject(struct ingest_parser *parser, struct batch *batch, const char *why)
{
	batch->rejected++;
	if (++parser->rejected <= TOLD_REJECTIONS)
		buf_printf(&parser->warnings, "%sline %" PRIu64 ": %s", parser->warnings.len ? "; " : "",
			parser->line_number, why);
}

static enum status take_line(struct ingest_parser *parser, struct batch *batch, struct span line, struct error *err)
{
	struct error inner = {0};

	parser->line_number++;
	if (line.len && line.ptr[line.len - 1] == '\r')
		line.len--;
	enum status status = parser->take_line(parser, batch, line, &inner);
	if (status == ERR_INVALID && !parser->is_head_bad) {
		points_text_reject(parser, batch, inner.text);
		return OK;
	}
	if (status != OK && err) {
		*err = inner;
		err->line = (int64_t)parser->line_number;
	}
	return status;
}

static enum status keep(struct ingest_parser *parser, struct span bytes, struct error *err)
{
	if (bytes.len > parser->options.max_points_bytes - parser->carry.len) {
		error_set(err, ERR_TOO_LARGE, "line %" PRIu64 " is longer than %zu bytes (--max-points-bytes)",
			parser->line_number + 1, parser->options.max_points_bytes);
		return ERR_TOO_LARGE;
	}
	buf_append_span(&parser->carry, bytes);
	return buf_status(&parser->carry, err);
}

enum status points_text_feed(struct ingest_parser *parser, struct batch *batch, struct span bytes, struct error *err)
{
	const char *at = bytes.ptr ? bytes.ptr : "", *end = at + bytes.len, *newline;

	for (; at < end && (newline = memchr(at, '\n', (size_t)(end - at))); at = newline + 1) {
		struct span line = span_of(at, (size_t)(newline - at));
		if (parser->carry.len) {
			TRY(keep(parser, line, err));
			line = buf_span(&parser->carry);
		}
		TRY(take_line(parser, batch, line, err));
		buf_reset(&parser->carry);
	}
	return at < end ? keep(parser, span_of(at, (size_t)(end - at)), err) : OK;
}

enum status points_text_finish(struct ingest_parser *parser, struct batch *batch, struct error *err)
{
	if (parser->carry.len)
		TRY(take_line(parser, batch, buf_span(&parser->carry), err));
	if (parser->take_end)
		TRY(parser->take_end(parser, batch, err));
	if (parser->rejected > TOLD_REJECTIONS)
		buf_printf(&parser->warnings, "; %" PRIu64 " points or lines were not stored in all", parser->rejected);
	return OK;
}

struct span points_text_warning(const struct ingest_parser *parser)
{
	return buf_span(&parser->warnings);
}

enum status points_text_part(struct ingest_parser *parser, struct batch *batch, struct span stream,
	struct batch_part **out, struct error *err)
{
	struct span name = stream.len ? stream : parser->options.stream;

	if ((*out = batch_find_part(batch, parser->options.job, name)))
		return OK;
	TRY(ingest_check_name("stream", name, parser->options.max_name_bytes, err));
	if (batch->part_count >= parser->options.max_parts)
		return error_set(err, ERR_TOO_LARGE, "more than %zu streams in one slice", parser->options.max_parts);
	*out = batch_part(batch, parser->options.job, name);
	return *out ? OK : error_no_memory(err);
}

enum status points_text_add(struct ingest_parser *parser, struct batch *batch, struct span stream, struct span metric,
	int64_t step, int64_t ts_ms, double value, struct error *err)
{
	struct batch_part *part;

	TRY(points_text_part(parser, batch, stream, &part, err));
	struct batch_series *series = batch_series(batch, part, metric);
	ts_ms = ts_ms == NO_TIME ? batch->arrival_ms : ts_ms;
	return series && batch_add_points(batch, part, series, &step, &ts_ms, &value, 1) ? OK : error_no_memory(err);
}

bool points_text_step(struct span text, int64_t *step)
{
	double number;

	if (span_parse_i64(text, step)) /* exactly, where a double would be its neighbour */
		return *step >= 0 && *step <= (int64_t)STEP_LIMIT;
	if (!span_parse_double(text, &number) || !(number >= 0 && number < STEP_LIMIT))
		return false;
	*step = (int64_t)number;
	return (double)*step == number;
}
