#include "api/logs/line_page.h"

#include "api/core/api_state.h"
#include "base/json/json_write.h"
#include "model/metrics/batch.h"

enum { END_BYTES = 1024 }; /* what follows the lines: totals and cursors */

struct line_page line_page_on(struct api *api, const struct http_request *request, struct http_response *response)
{
	struct line_page page = {.response = response,
		.max_bytes = api->options.max_reply_bytes - END_BYTES,
		.is_ndjson = span_find(http_request_header(request, "Accept"), SPAN("application/x-ndjson")) >= 0};

	if (page.is_ndjson)
		response->content_type = "application/x-ndjson";
	return page;
}

static void write_line(struct buf *out, const struct merged_line *line)
{
	struct json_writer w = json_writer_on(out);

	json_object(&w);
	json_put_i64(&w, "n", (int64_t)line->line.number);
	json_put_i64(&w, "ts_ms", line->line.ts_ms);
	json_put_span(&w, "stream", line->stream);
	json_put_span(&w, "text", line->line.text);
	if (line->line.flags & LINE_CUT)
		json_put_bool(&w, "cut", true);
	json_object_end(&w);
}

/* Of the lines in front, the first one from which all of them fit in half the page, or in all of it when none follow. */
static size_t first_that_fits(const struct line_page *page)
{
	AUTO_DONE(buf) one = BUF_INIT(SIZE_MAX / 2);
	size_t room = page->count > page->before_count ? page->max_bytes / 2 : page->max_bytes;
	size_t bytes = sizeof "{\"lines\":[";

	for (size_t i = page->before_count; i; i--) {
		buf_reset(&one);
		write_line(&one, &page->lines[i - 1]);
		bytes += one.len + 1;
		if (bytes > room && (i < page->before_count || page->count > page->before_count))
			return i;
	}
	return 0;
}

void line_page_write(struct line_page *page)
{
	struct buf *out = &page->response->body;
	size_t skip = first_that_fits(page), count = 0;

	page->lines += skip;
	page->count -= skip;
	page->has_more_before = page->has_more_before || skip;
	if (!page->is_ndjson)
		buf_append_text(out, "{\"lines\":[");
	for (; count < page->count; count++) {
		size_t before = out->len;
		if (count && !page->is_ndjson)
			buf_append_char(out, ',');
		write_line(out, &page->lines[count]);
		if (page->is_ndjson)
			buf_append_char(out, '\n');
		if (count && out->len > page->max_bytes) {
			out->len = before;
			page->has_more_after = true;
			break;
		}
	}
	page->count = count;
	if (!page->is_ndjson)
		buf_append_char(out, ']');
}

void line_page_put_u64(struct line_page *page, const char *key, const char *header, uint64_t value)
{
	if (page->is_ndjson)
		http_response_header(page->response, header, "%llu", (unsigned long long)value);
	else
		buf_printf(&page->response->body, ",\"%s\":%llu", key, (unsigned long long)value);
}

void line_page_put_text(struct line_page *page, const char *key, const char *header, struct span text)
{
	if (page->is_ndjson) {
		http_response_header(page->response, header, "%.*s", SPAN_ARGS(text));
		return;
	}
	buf_printf(&page->response->body, ",\"%s\":", key);
	struct json_writer w = json_writer_on(&page->response->body);
	json_span(&w, text);
}

void line_page_end(struct line_page *page)
{
	if (!page->is_ndjson)
		buf_append_char(&page->response->body, '}');
}
