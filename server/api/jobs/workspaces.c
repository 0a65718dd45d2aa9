/* The page's workspaces: what a team saves of them, each under a name. */
#include "api/core/api_state.h"
#include "api/core/handlers.h"
#include "api/core/request.h"
#include "api/jobs/workspace_check.h"
#include "base/json/json_read.h"
#include "base/json/json_write.h"
#include "state/execute.h"
#include "store/workspaces.h"

enum { NAME_MAX_BYTES = 128 };

struct change {
	struct workspace_row row;
	enum workspace_from from;
	int64_t revision;
	uint64_t most;
};

static void write_tag(int64_t revision, struct http_response *response)
{
	http_response_header(response, "ETag", "\"%lld\"", (long long)revision);
}

static void write_row(const struct workspace_row *row, struct json_writer *w)
{
	json_object(w);
	json_put_span(w, "name", row->name);
	json_put_span(w, "title", row->title);
	json_put_i64(w, "panels", row->panels);
	json_put_i64(w, "revision", row->revision);
	json_put_span(w, "author", row->author);
	json_put_i64(w, "modified_ms", row->modified_ms);
	json_object_end(w);
}

enum status api_workspaces_list(void *context, void *worker, const struct http_request *request,
	struct http_response *response, struct error *err)
{
	struct api_worker *own = worker;
	AUTO(arena) arena = NULL;
	struct json_writer w = api_reply(response);
	struct workspace_row *rows;
	size_t count;

	(void)context;
	TRY(api_arena(&arena, err));
	TRY(store_read_workspaces(own->reader, arena, api_team(request), &rows, &count, err));
	json_object(&w);
	json_key(&w, "workspaces");
	json_array(&w);
	for (size_t i = 0; i < count; i++)
		write_row(&rows[i], &w);
	json_array_end(&w);
	json_object_end(&w);
	return buf_status(&response->body, err);
}

enum status api_workspace_get(void *context, void *worker, const struct http_request *request,
	struct http_response *response, struct error *err)
{
	struct api_worker *own = worker;
	AUTO(arena) arena = NULL;
	struct json_writer w = api_reply(response);
	struct workspace_row row;

	(void)context;
	TRY(api_arena(&arena, err));
	TRY(store_read_workspace(own->reader, arena, api_team(request), http_request_segment(request, 0), &row, err));
	write_tag(row.revision, response);
	http_response_header(response, "Cache-Control", "no-cache");
	json_raw(&w, row.document);
	return buf_status(&response->body, err);
}

/* The conditions of a change; what is no ETag of ours is the ETag of nothing. */
static void read_conditions(const struct http_request *request, struct change *change)
{
	struct span match = span_trim(http_request_header(request, "If-Match"));

	if (span_equal(span_trim(http_request_header(request, "If-None-Match")), SPAN("*")))
		change->from = WORKSPACE_FROM_NONE;
	if (!match.len)
		return;
	change->from = WORKSPACE_FROM_REVISION;
	change->revision = -1;
	if (match.len > 2 && match.ptr[0] == '"' && match.ptr[match.len - 1] == '"' &&
		!span_parse_i64(span_of(match.ptr + 1, match.len - 2), &change->revision))
		change->revision = -1;
}

static struct change change_of(const struct api *api, const struct http_request *request)
{
	struct change change = {.most = api->options.max_workspaces,
		.row = {.team = api_team(request),
			.name = http_request_segment(request, 0),
			.title = SPAN(""),
			.author = span_from(http_request_principal(request)->name),
			.modified_ms = http_request_arrival_ms(request)}};

	read_conditions(request, &change);
	return change;
}

static enum status save(void *context, struct store_tx *tx, struct error *err)
{
	struct change *change = context;

	return store_put_workspace(tx, &change->row, change->from, change->revision, change->most, err);
}

enum status api_workspace_put(void *context, void *worker, const struct http_request *request,
	struct http_response *response, struct error *err)
{
	struct api *api = context;
	AUTO(json) body = NULL;
	AUTO_DONE(buf) document = BUF_INIT(8 << 20);
	struct change change = change_of(api, request);
	size_t bytes = http_request_body(request).len;

	(void)worker;
	TRY(api_check_length("name", change.row.name, 1, NAME_MAX_BYTES, err));
	if (bytes > api->options.max_workspace_bytes)
		return error_set(err, ERR_TOO_LARGE,
			"the workspace has %zu bytes, more than %zu (--max-workspace-bytes)", bytes,
			api->options.max_workspace_bytes);
	TRY(api_body_object(request, &body, err));
	TRY(workspace_check(body, change.row.modified_ms, err));
	TRY(json_want_string(body, "title", &change.row.title, err));
	change.row.panels = (int64_t)json_count(json_get(body, "panels"));
	json_print(body, &document);
	TRY(buf_status(&document, err));
	change.row.document = buf_span(&document);
	TRY(writer_execute(api->options.pipeline, save, &change, err));
	struct json_writer w = api_reply(response);
	write_tag(change.row.revision, response);
	write_row(&change.row, &w);
	return buf_status(&response->body, err);
}

static enum status delete (void *context, struct store_tx *tx, struct error *err) {
	const struct change *change = context;

	return store_delete_workspace(tx, change->row.team, change->row.name, change->from, change->revision, err);
}

enum status api_workspace_delete(void *context, void *worker, const struct http_request *request,
	struct http_response *response, struct error *err)
{
	struct api *api = context;
	struct change change = change_of(api, request);

	(void)worker;
	TRY(writer_execute(api->options.pipeline, delete, &change, err));
	response->status = 204;
	return OK;
}
