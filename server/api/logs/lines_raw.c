/* A stream's text as it came, in constant memory: a batch is read and sent before the next one; no snapshot between. */
#include "api/core/api_state.h"
#include "api/core/handlers.h"
#include "api/core/request.h"
#include "api/logs/lines.h"
#include "read/logs/lines.h"

enum { FILE_NAME_BYTES = 200 };

struct raw_lines {
	struct api *api;
	struct arena *arena; /* holds this */
	struct span job, stream;
	struct raw_place place;
};

static void raw_free(void *state)
{
	arena_free(((struct raw_lines *)state)->arena);
}

static enum status raw_more(void *state, void *worker, struct buf *out, bool *is_done, struct error *err)
{
	struct raw_lines *raw = state;

	*is_done = raw->place.next >= raw->place.end;
	if (*is_done)
		return OK;
	return lines_read_raw(raw->api->options.pipeline, ((struct api_worker *)worker)->reader, raw->job, raw->stream,
		&raw->place, out, err);
}

static const struct http_producer_ops raw_ops = {raw_more, raw_free};

static size_t put_safe(char *out, size_t used, struct span name)
{
	for (size_t i = 0; i < name.len && used < FILE_NAME_BYTES; i++) {
		char c = name.ptr[i];
		bool is_safe = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
			       c == '-' || (c == '.' && used);
		out[used++] = is_safe ? c : '_';
	}
	return used;
}

static void write_head(const struct raw_lines *raw, struct http_response *response)
{
	char name[FILE_NAME_BYTES + 1];
	size_t used = put_safe(name, 0, raw->job);

	used = put_safe(name, used, SPAN("-"));
	name[put_safe(name, used, raw->stream)] = 0;
	response->content_type = "text/plain; charset=utf-8";
	http_response_header(response, "Content-Disposition", "attachment; filename=\"%s.log\"", name);
	http_response_header(response, "X-First-Line", "%llu", (unsigned long long)raw->place.next);
}

static enum status read_window(const struct http_request *request, struct raw_place *place, struct error *err)
{
	int64_t from = 0, limit = INT64_MAX;

	TRY(http_query_i64(request, "from", 0, INT64_MAX, &from, err));
	TRY(http_query_i64(request, "limit", 1, INT64_MAX, &limit, err));
	place->next = (uint64_t)from;
	place->end = (uint64_t)from + (uint64_t)limit;
	return OK;
}

enum status api_lines_raw(void *context, void *worker, const struct http_request *request,
	struct http_response *response, struct error *err)
{
	struct api *api = context;
	AUTO(arena) arena = NULL;
	struct span stream;

	TRY(api_arena(&arena, err));
	struct raw_lines *raw = arena_alloc(arena, sizeof *raw);
	if (!raw)
		return error_no_memory(err);
	*raw = (struct raw_lines){.api = api, .arena = arena};
	TRY(read_window(request, &raw->place, err));
	TRY(api_choose_stream(worker, arena, request, &stream, err));
	raw->job = arena_copy(arena, http_request_segment(request, 0));
	raw->stream = arena_copy(arena, stream);
	if (!raw->job.ptr || !raw->stream.ptr)
		return error_no_memory(err);
	if (stream.len)
		TRY(lines_read_raw(api->options.pipeline, ((struct api_worker *)worker)->reader, raw->job, raw->stream,
			&raw->place, NULL, err));
	else
		raw->place.end = 0;
	write_head(raw, response);
	arena = NULL; /* the reply's from here on */
	http_response_produce(response, &raw_ops, raw);
	return OK;
}
