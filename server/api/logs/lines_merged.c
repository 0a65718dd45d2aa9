/* All streams of a job as one log, page by page in both directions. */
#include "api/core/api_state.h"
#include "api/core/request.h"
#include "api/logs/line_page.h"

#include <stdio.h>

enum { STREAMS_MAX = 256 };

/* As live's jobs=: commas part the names, so that a comma within a name is percent-encoded once more. */
static enum status read_streams(
	const struct http_request *request, struct arena *arena, struct lines_asked *asked, struct error *err)
{
	struct span rest, part;

	if (!http_request_query(request, "streams", &rest) || !rest.len)
		return OK;
	asked->streams = arena_alloc(arena, STREAMS_MAX * sizeof *asked->streams);
	if (!asked->streams)
		return error_no_memory(err);
	while (span_next(&rest, ',', &part)) {
		if (!part.len)
			continue;
		if (asked->stream_count == STREAMS_MAX)
			return error_set_field(
				err, ERR_TOO_LARGE, "streams", "'streams' names more than %d streams", STREAMS_MAX);
		TRY(api_decode_name(arena, part, &asked->streams[asked->stream_count++], err));
	}
	return OK;
}

/* "n.TIME.STREAM.LINE": what follows that line; "p.": what precedes it. */
static enum status read_cursor(struct span cursor, struct log_place *place, bool *is_backward, struct error *err)
{
	struct span rest = cursor, direction, ts, stream;
	uint64_t stream_id;

	if (!span_next(&rest, '.', &direction) || !span_next(&rest, '.', &ts) || !span_next(&rest, '.', &stream) ||
		!span_parse_i64(ts, &place->ts_ms) || !span_parse_u64(stream, &stream_id) || stream_id > UINT32_MAX ||
		!span_parse_u64(rest, &place->line) ||
		(!span_equal(direction, SPAN("n")) && !span_equal(direction, SPAN("p"))))
		return error_set_field(
			err, ERR_INVALID, "cursor", "'cursor' is '%.*s', which no page has given", SPAN_ARGS(cursor));
	place->stream_id = (uint32_t)stream_id;
	*is_backward = span_equal(direction, SPAN("p"));
	return OK;
}

struct part {
	struct merged_line *lines;
	size_t count;
	bool has_more;
};

static enum status read_part(struct api *api, struct api_worker *worker, struct arena *arena, struct merge *merge,
	size_t limit, bool is_backward, struct part *part, struct error *err)
{
	merge->limit = limit;
	merge->is_backward = is_backward;
	if (!limit)
		return OK;
	return merge_read_lines(
		api->options.pipeline, worker->reader, arena, merge, &part->lines, &part->count, &part->has_more, err);
}

static enum status join(struct line_page *page, const struct part *before, const struct part *after,
	struct arena *arena, struct error *err)
{
	page->count = before->count + after->count;
	page->before_count = before->count;
	page->has_more_before = before->has_more;
	page->has_more_after = after->has_more;
	page->lines = arena_alloc(arena, page->count * sizeof *page->lines);
	if (!page->lines)
		return error_no_memory(err);
	if (before->count)
		memcpy(page->lines, before->lines, before->count * sizeof *page->lines);
	if (after->count)
		memcpy(page->lines + before->count, after->lines, after->count * sizeof *page->lines);
	return OK;
}

static enum status read_around(struct api *api, struct api_worker *worker, const struct lines_asked *asked,
	struct merge merge, struct line_page *page, struct arena *arena, struct error *err)
{
	struct log_place place = {asked->around_ms - 1, UINT32_MAX, UINT64_MAX};
	struct part before = {0}, after = {0};

	merge.after = &place;
	merge.max_bytes /= 2;
	TRY(read_part(api, worker, arena, &merge, asked->limit - asked->limit / 2, false, &after, err));
	place = (struct log_place){asked->around_ms, 0, 0};
	TRY(read_part(api, worker, arena, &merge, asked->limit / 2, true, &before, err));
	if (after.count) {
		page->has_at = true;
		page->at = after.lines[0].line.number;
		page->at_stream = after.lines[0].stream;
	}
	before.has_more = before.has_more || asked->limit < 2;
	return join(page, &before, &after, arena, err);
}

static enum status read_page(struct api *api, struct api_worker *worker, const struct lines_asked *asked,
	struct merge merge, struct line_page *page, struct arena *arena, struct error *err)
{
	struct part part = {0}, none = {0};
	struct log_place place;
	bool is_backward = true;

	if (asked->has_cursor) {
		TRY(read_cursor(asked->cursor, &place, &is_backward, err));
		merge.after = &place;
	}
	TRY(read_part(api, worker, arena, &merge, asked->limit, is_backward, &part, err));
	none.has_more = asked->has_cursor; /* the line that the cursor names lies there */
	return is_backward ? join(page, &part, &none, arena, err) : join(page, &none, &part, arena, err);
}

static void put_cursor(
	struct line_page *page, const char *key, const char *header, char direction, const struct log_place *place)
{
	char text[80];
	int len = snprintf(text, sizeof text, "%c.%lld.%u.%llu", direction, (long long)place->ts_ms, place->stream_id,
		(unsigned long long)place->line);

	line_page_put_text(page, key, header, span_of(text, (size_t)len));
}

static void write_page(struct line_page *page)
{
	line_page_write(page);
	if (page->has_at) {
		line_page_put_u64(page, "at", "X-At", page->at);
		line_page_put_text(page, "at_stream", "X-At-Stream", page->at_stream);
	}
	if (page->count && page->has_more_before)
		put_cursor(page, "previous_cursor", "X-Previous-Cursor", 'p', &page->lines[0].place);
	if (page->count && page->has_more_after)
		put_cursor(page, "next_cursor", "X-Next-Cursor", 'n', &page->lines[page->count - 1].place);
	line_page_end(page);
}

enum status api_lines_merged(struct api *api, struct api_worker *worker, const struct http_request *request,
	struct lines_asked *asked, struct line_page *page, struct arena *arena, struct error *err)
{
	struct merge merge = {
		.job = http_request_segment(request, 0), .stream = SPAN(""), .max_bytes = api->options.max_reply_bytes};

	TRY(read_streams(request, arena, asked, err));
	merge.streams = asked->streams;
	merge.stream_count = asked->stream_count;
	if (asked->around_ms != INT64_MIN)
		TRY(read_around(api, worker, asked, merge, page, arena, err));
	else
		TRY(read_page(api, worker, asked, merge, page, arena, err));
	write_page(page);
	return buf_status(&page->response->body, err);
}
