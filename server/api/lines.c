#include "api/internal.h"

enum { LIMIT_DEFAULT = 200, LIMIT_MAX = 1000 };

static void put_ms(struct json_writer *w, const char *key, int64_t ms)
{
	if (ms)
		json_put_i64(w, key, ms);
}

enum status api_streams(void *context, void *worker, const struct http_request *request, struct http_response *response,
	struct error *err)
{
	struct api *api = context;
	struct api_worker *own = worker;
	AUTO(arena) arena = NULL;
	struct json_writer w = api_reply(response);
	struct expired_text *expired;
	struct job_view view;
	size_t expired_count;

	TRY(api_arena(&arena, err));
	TRY(pipeline_view_job(api->options.pipeline, own->reader, arena, http_request_segment(request, 0), SPAN(""),
		SPAN(""), VIEW_SERIES, &view, err));
	TRY(store_read_expired(own->reader, arena, view.row.job_id, 0, &expired, &expired_count, err));
	json_object(&w);
	json_key(&w, "streams");
	json_array(&w);
	for (size_t i = 0; i < view.stream_count; i++) {
		const struct stream_view *stream = &view.streams[i];
		json_object(&w);
		json_put_span(&w, "stream", stream->name);
		json_put_span(&w, "host", stream->host);
		json_put_i64(&w, "lines", (int64_t)stream->lines);
		json_put_i64(&w, "bytes", (int64_t)stream->bytes);
		put_ms(&w, "first_ms", stream->first_ms);
		put_ms(&w, "last_ms", stream->last_ms);
		put_ms(&w, "last_seen_ms", stream->last_arrival_ms);
		json_put_i64(&w, "attempt", stream->attempt);
		if (stream->preset.len)
			json_put_span(&w, "preset", stream->preset);
		for (size_t j = 0; j < expired_count; j++)
			if (expired[j].stream_id == stream->stream_id) {
				json_put_i64(&w, "deleted_lines", (int64_t)expired[j].first_kept_line);
				put_ms(&w, "deleted_ms", expired[j].deleted_ms);
			}
		json_object_end(&w);
	}
	json_array_end(&w);
	json_object_end(&w);
	return buf_status(&response->body, err);
}

enum status api_choose_stream(struct api_worker *worker, struct arena *arena, const struct http_request *request,
	struct span *stream, struct error *err)
{
	struct job_row job;
	struct stream_row *rows;
	size_t count;

	if (http_request_query(request, "stream", stream))
		return OK;
	TRY(store_read_job(worker->reader, arena, http_request_segment(request, 0), &job, err));
	TRY(store_read_streams(worker->reader, arena, job.job_id, SPAN(""), &rows, &count, err));
	*stream = count ? rows[0].name : SPAN("");
	return OK;
}

/* ---- a page ---- */

struct page {
	struct http_response *response;
	size_t max_bytes;
	bool is_ndjson;
	bool is_full;
	size_t count;
};

enum { PAGE_END_BYTES = 512 }; /* what follows the lines: totals and cursors */

static void open_page(
	struct page *page, struct api *api, const struct http_request *request, struct http_response *response)
{
	*page = (struct page){.response = response, .max_bytes = api->options.max_reply_bytes - PAGE_END_BYTES};
	page->is_ndjson = span_find(http_request_header(request, "Accept"), SPAN("application/x-ndjson")) >= 0;
	if (page->is_ndjson)
		response->content_type = "application/x-ndjson";
	else
		buf_append_text(&response->body, "{\"lines\":[");
}

static void write_object(struct buf *out, struct span stream, const struct line_view *line)
{
	struct json_writer w = json_writer_on(out);

	json_object(&w);
	json_put_i64(&w, "n", (int64_t)line->number);
	json_put_i64(&w, "ts_ms", line->ts_ms);
	json_put_span(&w, "stream", stream);
	json_put_span(&w, "text", line->text);
	if (line->flags & LINE_CUT)
		json_put_bool(&w, "cut", true);
	json_object_end(&w);
}

/* False: this line would be too much, and was not written. */
static bool write_line(struct page *page, struct span stream, const struct line_view *line)
{
	struct buf *out = &page->response->body;
	size_t before = out->len;

	if (page->count && !page->is_ndjson)
		buf_append_char(out, ',');
	write_object(out, stream, line);
	if (page->is_ndjson)
		buf_append_char(out, '\n');
	if (page->count && out->len > page->max_bytes) {
		out->len = before;
		return false;
	}
	page->count++;
	return true;
}

/* Of the newest lines, the first one from which all of them fit. */
static size_t first_that_fits(const struct page *page, struct span stream, const struct line_view *lines, size_t count)
{
	AUTO_DONE(buf) one = BUF_INIT(SIZE_MAX / 2);
	size_t bytes = page->response->body.len;

	for (size_t i = count; i; i--) {
		buf_reset(&one);
		write_object(&one, stream, &lines[i - 1]);
		bytes += one.len + 1;
		if (bytes > page->max_bytes && i < count)
			return i;
	}
	return 0;
}

/* An object's member, or of NDJSON, where every line is a log line, a header. */
static void put_number(struct page *page, const char *key, const char *header, uint64_t value)
{
	if (page->is_ndjson)
		http_response_header(page->response, header, "%llu", (unsigned long long)value);
	else
		buf_printf(&page->response->body, ",\"%s\":%llu", key, (unsigned long long)value);
}

struct line_page {
	struct line_view *lines;
	size_t count;
	uint64_t total;
};

/* The last page is about the newest lines: what is too much is left out in front. */
static enum status read_page(struct api *api, struct api_worker *worker, struct arena *arena, struct span job,
	struct span stream, uint64_t from, size_t limit, struct line_page *out, struct error *err)
{
	for (;; limit = limit / 2) {
		TRY(pipeline_read_lines(api->options.pipeline, worker->reader, arena, job, stream, from, limit,
			api->options.max_reply_bytes, &out->lines, &out->count, &out->total, err));
		if (from != UINT64_MAX || out->count == limit || out->count == out->total || limit < 2)
			return OK;
	}
}

static void write_page(struct page *page, struct span stream, const struct line_page *lines)
{
	uint64_t next = 0;

	for (size_t i = 0; i < lines->count && write_line(page, stream, &lines->lines[i]); i++)
		next = lines->lines[i].number + 1;
	if (!page->is_ndjson)
		buf_append_text(&page->response->body, "]");
	put_number(page, "total", "X-Total", lines->total);
	if (lines->count && next < lines->total)
		put_number(page, "next_from", "X-Next-From", next);
	if (!page->is_ndjson)
		buf_append_text(&page->response->body, "}");
}

enum status api_lines(void *context, void *worker, const struct http_request *request, struct http_response *response,
	struct error *err)
{
	struct api *api = context;
	AUTO(arena) arena = NULL;
	struct span stream = SPAN("");
	struct line_page lines = {0};
	struct page page;
	int64_t from = -1;
	size_t limit;

	TRY(api_arena(&arena, err));
	api_reply(response);
	TRY(api_limit(request, LIMIT_DEFAULT, LIMIT_MAX, &limit, err));
	TRY(http_query_i64(request, "from", 0, INT64_MAX, &from, err));
	TRY(api_choose_stream(worker, arena, request, &stream, err));
	if (stream.len)
		TRY(read_page(api, worker, arena, http_request_segment(request, 0), stream,
			from < 0 ? UINT64_MAX : (uint64_t)from, limit, &lines, err));
	open_page(&page, api, request, response);
	if (from < 0) {
		size_t skip = first_that_fits(&page, stream, lines.lines, lines.count);
		lines.lines += skip;
		lines.count -= skip;
	}
	write_page(&page, stream, &lines);
	return buf_status(&response->body, err);
}
