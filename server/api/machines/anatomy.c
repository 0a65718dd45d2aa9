/* What a step is made of, by what its trainer times: docs/anatomy.md. */
#include "read/charts/anatomy_read.h"

#include "api/core/api_state.h"
#include "api/core/handlers.h"
#include "api/core/money.h"
#include "api/core/request.h"

static void write_shares(struct json_writer *w, const double share[ANATOMY_PARTS])
{
	json_key(w, "share");
	json_object(w);
	for (int part = 0; part < ANATOMY_PARTS; part++)
		api_put_known(w, anatomy_part_name((enum anatomy_part)part), share[part]);
	json_object_end(w);
	json_key(w, "exposed_communication");
	json_null(w); /* no timer tells what ran beside it */
}

static void write_stream(struct json_writer *w, const struct anatomy_stream *stream)
{
	json_object(w);
	json_put_span(w, "stream", stream->name);
	json_put_i64(w, "steps", (int64_t)stream->steps);
	write_shares(w, stream->share);
	json_key(w, "from");
	json_object(w);
	for (int part = 0; part < ANATOMY_PARTS; part++)
		if (stream->from[part].len)
			json_put_span(w, anatomy_part_name((enum anatomy_part)part), stream->from[part]);
	json_object_end(w);
	json_object_end(w);
}

enum status api_job_anatomy(void *context, void *worker, const struct http_request *request,
	struct http_response *response, struct error *err)
{
	const struct api *api = context;
	struct store_reader *reader = ((struct api_worker *)worker)->reader;
	int64_t from = INT64_MIN, to = INT64_MAX;
	AUTO(arena) arena = NULL;
	struct json_writer w = api_reply(response);
	struct anatomy found;

	TRY(http_query_i64(request, "from_step", 0, INT64_MAX, &from, err));
	TRY(http_query_i64(request, "to_step", 0, INT64_MAX, &to, err));
	TRY(api_arena(&arena, err));
	TRY(anatomy_read(
		api->options.pipeline, reader, arena, http_request_segment(request, 0), from, to, &found, err));
	json_object(&w);
	json_put_i64(&w, "steps", (int64_t)found.steps);
	write_shares(&w, found.share);
	json_key(&w, "by_stream");
	json_array(&w);
	for (size_t i = 0; i < found.count; i++)
		write_stream(&w, &found.streams[i]);
	json_array_end(&w);
	json_put_i64(&w, "left_out", (int64_t)found.left_out);
	json_object_end(&w);
	return buf_status(&response->body, err);
}
