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

/* The stream asked for, else the job's first. */
static enum status choose_stream(struct api_worker *worker, struct arena *arena, const struct http_request *request,
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

static void write_lines(
	struct json_writer *w, struct span stream, const struct line_view *lines, size_t count, uint64_t total)
{
	json_object(w);
	json_key(w, "lines");
	json_array(w);
	for (size_t i = 0; i < count; i++) {
		json_object(w);
		json_put_i64(w, "n", (int64_t)lines[i].number);
		json_put_i64(w, "ts_ms", lines[i].ts_ms);
		json_put_span(w, "stream", stream);
		json_put_span(w, "text", lines[i].text);
		if (lines[i].flags & LINE_CUT)
			json_put_bool(w, "cut", true);
		json_object_end(w);
	}
	json_array_end(w);
	json_put_i64(w, "total", (int64_t)total);
	json_object_end(w);
}

enum status api_lines(void *context, void *worker, const struct http_request *request, struct http_response *response,
	struct error *err)
{
	struct api *api = context;
	AUTO(arena) arena = NULL;
	struct json_writer w = api_reply(response);
	struct span stream = SPAN("");
	struct line_view *lines = NULL;
	int64_t from = -1;
	uint64_t total = 0;
	size_t limit, count = 0;

	TRY(api_arena(&arena, err));
	TRY(api_limit(request, LIMIT_DEFAULT, LIMIT_MAX, &limit, err));
	TRY(http_query_i64(request, "from", 0, INT64_MAX, &from, err));
	TRY(choose_stream(worker, arena, request, &stream, err));
	if (stream.len)
		TRY(pipeline_read_lines(api->options.pipeline, ((struct api_worker *)worker)->reader, arena,
			http_request_segment(request, 0), stream, from < 0 ? UINT64_MAX : (uint64_t)from, limit, &lines,
			&count, &total, err));
	write_lines(&w, stream, lines, count, total);
	return buf_status(&response->body, err);
}
