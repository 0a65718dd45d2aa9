/* Saved views: a query with its order and columns, of one user (a token's name) or of a team. */
#include "api/core/api_state.h"
#include "api/core/handlers.h"
#include "api/core/request.h"
#include "base/json/json_read.h"
#include "base/json/json_write.h"
#include "model/query.h"
#include "query/query.h"
#include "state/execute.h"
#include "store/views.h"

enum {
	NAME_MAX_BYTES = 128,
	VIEW_QUERY_MAX_BYTES = 8192,
	SORT_MAX_BYTES = 300,
	COLUMNS_MAX = 64,
	COLUMN_MAX_BYTES = 300
};

struct saving {
	struct view_row row;
	uint64_t most;
};

static void write_view(const struct view_row *row, struct json_writer *w)
{
	json_object(w);
	json_put_span(w, "name", row->name);
	json_put_span(w, "query", row->query);
	json_put_span(w, "sort", row->sort);
	json_key(w, "columns");
	json_raw(w, row->columns);
	json_put_text(w, "scope", row->owner.len ? "user" : "team");
	json_put_i64(w, "modified_ms", row->modified_ms);
	json_object_end(w);
}

enum status api_views_list(void *context, void *worker, const struct http_request *request,
	struct http_response *response, struct error *err)
{
	struct api_worker *own = worker;
	AUTO(arena) arena = NULL;
	struct json_writer w = api_reply(response);
	struct view_row *rows;
	size_t count;

	(void)context;
	TRY(api_arena(&arena, err));
	TRY(store_read_views(own->reader, arena, api_team(request), span_from(http_request_principal(request)->name),
		&rows, &count, err));
	json_object(&w);
	json_key(&w, "views");
	json_array(&w);
	for (size_t i = 0; i < count; i++)
		write_view(&rows[i], &w);
	json_array_end(&w);
	json_object_end(&w);
	return buf_status(&response->body, err);
}

/* *owner: by scope; without tokens there is nobody but the team. What a team shares is an admin's to change. */
static enum status read_owner(
	const struct http_request *request, struct span scope, struct span *owner, struct error *err)
{
	const struct principal *principal = http_request_principal(request);

	if (!scope.len)
		scope = principal->name[0] ? SPAN("user") : SPAN("team");
	if (!span_equal(scope, SPAN("user")) && !span_equal(scope, SPAN("team")))
		return error_set_field(err, ERR_SEMANTIC, "scope", "scope is user or team, not '%.*s'",
			(int)(scope.len < 80 ? scope.len : 80), scope.ptr);
	*owner = span_equal(scope, SPAN("user")) ? span_from(principal->name) : SPAN("");
	if (owner->len || span_equal(scope, SPAN("team")))
		return owner->len || http_may(principal, SCOPE_ADMIN)
			       ? OK
			       : error_set_field(
					 err, ERR_FORBIDDEN, "scope", "a team's views are changed by an admin token");
	return error_set_field(err, ERR_SEMANTIC, "scope", "without a token there is no user; scope is team");
}

static enum status read_columns(const struct json *columns, struct buf *out, struct error *err)
{
	if (!columns || json_kind(columns) == JSON_NULL) {
		buf_append_text(out, "[]");
		return buf_status(out, err);
	}
	if (json_kind(columns) != JSON_ARRAY || json_count(columns) > COLUMNS_MAX)
		return error_set_field(
			err, ERR_SEMANTIC, "columns", "columns is an array of at most %d names", COLUMNS_MAX);
	for (const struct json *at = json_first(columns); at; at = json_next(at)) {
		if (json_kind(at) != JSON_STRING)
			return error_set_field(err, ERR_SEMANTIC, "columns", "columns holds names, which are strings");
		TRY(api_check_length("columns", json_string_of(at), 1, COLUMN_MAX_BYTES, err));
	}
	json_print(columns, out);
	return buf_status(out, err);
}

static enum status check_query(struct span query, int64_t now_ms, struct error *err)
{
	AUTO(arena) arena = NULL;
	struct query_node *tree;

	TRY(api_check_length("query", query, 0, VIEW_QUERY_MAX_BYTES, err));
	TRY(api_arena(&arena, err));
	enum status status = query_parse(&tree, query, now_ms, arena, err);
	if (status != OK && err)
		memcpy(err->field, "query", sizeof "query");
	return status;
}

static enum status save(void *context, struct store_tx *tx, struct error *err)
{
	struct saving *saving = context;

	return store_put_view(tx, &saving->row, saving->most, err);
}

enum status api_view_put(void *context, void *worker, const struct http_request *request,
	struct http_response *response, struct error *err)
{
	struct api *api = context;
	AUTO(json) body = NULL;
	AUTO_DONE(buf) columns = BUF_INIT(1 << 20);
	struct span scope = SPAN("");
	struct saving saving = {.most = api->options.max_views};
	struct view_row *row = &saving.row;

	(void)worker;
	*row = (struct view_row){.team = api_team(request), .name = SPAN(""), .query = SPAN(""), .sort = SPAN("")};
	row->modified_ms = http_request_arrival_ms(request);
	TRY(api_body_object(request, &body, err));
	TRY(json_want_string(body, "name", &row->name, err));
	TRY(json_want_string(body, "query", &row->query, err));
	TRY(json_want_string(body, "sort", &row->sort, err));
	TRY(json_want_string(body, "scope", &scope, err));
	TRY(api_check_length("name", row->name, 1, NAME_MAX_BYTES, err));
	TRY(api_check_length("sort", row->sort, 0, SORT_MAX_BYTES, err));
	TRY(check_query(row->query, row->modified_ms, err));
	TRY(read_columns(json_get(body, "columns"), &columns, err));
	row->columns = buf_span(&columns);
	TRY(read_owner(request, scope, &row->owner, err));
	TRY(writer_execute(api->options.pipeline, save, &saving, err));
	struct json_writer w = api_reply(response);
	write_view(row, &w);
	return buf_status(&response->body, err);
}

static enum status delete (void *context, struct store_tx *tx, struct error *err) {
	const struct view_row *row = context;

	return store_delete_view(tx, row->team, row->owner, row->name, err);
}

enum status api_view_delete(void *context, void *worker, const struct http_request *request,
	struct http_response *response, struct error *err)
{
	struct api *api = context;
	struct span scope = SPAN("");
	struct view_row row = {.team = api_team(request), .name = SPAN("")};

	(void)worker;
	http_request_query(request, "scope", &scope);
	if (!http_request_query(request, "name", &row.name))
		return error_set_field(err, ERR_INVALID, "name", "name says which view to delete");
	TRY(read_owner(request, scope, &row.owner, err));
	TRY(writer_execute(api->options.pipeline, delete, &row, err));
	response->status = 204;
	return OK;
}
