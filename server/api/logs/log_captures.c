/* What of a stream's lines is taken for points, for who shows these lines. */
#include "api/core/api_state.h"
#include "api/core/handlers.h"
#include "api/core/request.h"
#include "api/logs/lines.h"
#include "base/json/json_write.h"
#include "pipeline/backfill/captures.h"

enum { LIMIT_DEFAULT = 200 };

static void write_capture(struct json_writer *w, const struct capture *capture)
{
	json_object(w);
	json_put_span(w, "metric", capture->metric);
	json_put_i64(w, "start", (int64_t)capture->start);
	json_put_i64(w, "end", (int64_t)capture->end);
	json_put_double(w, "value", capture->mark.value);
	if (capture->mark.has_step)
		json_put_i64(w, "step", capture->mark.step);
	json_object_end(w);
}

static void write_lines(struct json_writer *w, const struct captures_view *view)
{
	json_key(w, "lines");
	json_array(w);
	for (size_t i = 0; i < view->count;) {
		uint64_t line = view->items[i].line;
		json_object(w);
		json_put_i64(w, "n", (int64_t)line);
		json_key(w, "captures");
		json_array(w);
		for (; i < view->count && view->items[i].line == line; i++)
			write_capture(w, &view->items[i]);
		json_array_end(w);
		json_object_end(w);
	}
	json_array_end(w);
}

enum status api_log_captures(void *context, void *worker, const struct http_request *request,
	struct http_response *response, struct error *err)
{
	struct api *api = context;
	struct api_worker *own = worker;
	AUTO(arena) arena = NULL;
	struct json_writer w = api_reply(response);
	struct span stream = SPAN("");
	struct captures_view view = {0};
	int64_t from = -1;
	size_t limit;

	TRY(api_arena(&arena, err));
	TRY(api_limit(request, LIMIT_DEFAULT, CAPTURES_LINES_MAX, &limit, err));
	TRY(http_query_i64(request, "from", 0, INT64_MAX, &from, err));
	if (from < 0)
		return error_set_field(err, ERR_INVALID, "from", "'from' is missing: the number of the first line");
	TRY(api_choose_stream(own, arena, request, &stream, err));
	if (stream.len)
		TRY(pipeline_read_captures(api->options.pipeline, own->reader, arena, http_request_segment(request, 0),
			stream, (uint64_t)from, limit, &view, err));
	json_object(&w);
	json_put_span(&w, "stream", stream);
	write_lines(&w, &view);
	json_put_i64(&w, "total", (int64_t)view.total);
	if (view.end < view.total)
		json_put_i64(&w, "next_from", (int64_t)view.end);
	if (view.open_from < view.end)
		json_put_i64(&w, "open_from", (int64_t)(view.open_from > view.from ? view.open_from : view.from));
	json_object_end(&w);
	return buf_status(&response->body, err);
}
