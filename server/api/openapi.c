/* The OpenAPI document, from the table of routes and that of parameters. */
#include "api/api.h"
#include "api/core/api_state.h"
#include "api/core/handlers.h"
#include "api/core/request.h"
#include "api/parameters.h"
#include "base/json/json_write.h"

static void write_parameter(struct json_writer *w, const struct http_route *route, struct span name, bool is_in_path)
{
	const struct api_parameter *known = api_parameter_find(route->pattern, name);

	json_object(w);
	json_put_span(w, "name", name);
	json_put_text(w, "in", is_in_path ? "path" : "query");
	if (is_in_path)
		json_put_bool(w, "required", true);
	if (known)
		json_put_text(w, "description", known->text);
	json_key(w, "schema");
	json_object(w);
	json_put_text(w, "type", known ? known->type : "string");
	json_object_end(w);
	json_object_end(w);
}

static void write_parameters(struct json_writer *w, const struct http_route *route)
{
	struct span rest = span_from(route->pattern), part;

	json_key(w, "parameters");
	json_array(w);
	while (span_next(&rest, '/', &part)) {
		if (part.len && part.ptr[0] == '{')
			write_parameter(w, route, span_of(part.ptr + 1, part.len - 2), true);
	}
	rest = span_from(route->query);
	while (span_next(&rest, ' ', &part)) {
		if (part.len && !span_equal(part, SPAN("*")))
			write_parameter(w, route, part, false);
	}
	json_array_end(w);
}

/* "array", or "array|null". */
static void put_types(struct json_writer *w, struct span types)
{
	struct span type;

	if (span_find(types, SPAN("|")) < 0) {
		json_put_span(w, "type", types);
		return;
	}
	json_key(w, "type");
	json_array(w);
	while (span_next(&types, '|', &type))
		json_span(w, type);
	json_array_end(w);
}

/* "name!:string columns:array" */
static void write_members(struct json_writer *w, struct span members)
{
	struct span rest = members, part, name;

	json_key(w, "properties");
	json_object(w);
	while (span_next(&rest, ' ', &part)) {
		if (!span_next(&part, ':', &name) || !name.len)
			continue;
		if (name.len && name.ptr[name.len - 1] == '!')
			name.len--;
		json_key_span(w, name);
		json_object(w);
		put_types(w, part);
		json_object_end(w);
	}
	json_object_end(w);
}

static bool write_required(struct json_writer *w, struct span members)
{
	struct span rest = members, part, name;
	bool has_any = false;

	json_key(w, "required");
	json_array(w);
	while (span_next(&rest, ' ', &part))
		if (span_next(&part, ':', &name) && name.len && name.ptr[name.len - 1] == '!') {
			json_span(w, span_of(name.ptr, name.len - 1));
			has_any = true;
		}
	json_array_end(w);
	return has_any;
}

static void write_body(struct json_writer *w, const struct http_route *route)
{
	struct span members = span_from(route->body);

	json_key(w, "requestBody");
	json_object(w);
	json_key(w, "content");
	json_object(w);
	json_key(w, "application/json");
	json_object(w);
	json_key(w, "schema");
	json_object(w);
	json_put_text(w, "type", "object");
	write_members(w, members);
	bool is_required = write_required(w, members);
	json_object_end(w);
	json_object_end(w);
	json_object_end(w);
	json_put_bool(w, "required", is_required);
	json_object_end(w);
}

static void write_operation(struct json_writer *w, const struct http_route *route)
{
	json_object(w);
	json_put_text(w, "summary", route->summary);
	json_put_text(w, "x-scope", http_scope_name(route->scope));
	write_parameters(w, route);
	if (route->describe)
		route->describe(route, w);
	else if (route->body)
		write_body(w, route);
	json_key(w, "responses");
	json_raw(w,
		SPAN("{\"2XX\":{\"description\":\"done\"},\"default\":{\"description\":\"application/problem+json (RFC 9457)\"}}"));
	json_object_end(w);
}

/* Of the page's files nothing, nor of what only says that something is not there. */
static bool is_told(const struct http_route *route)
{
	return route->summary;
}

static void write_path(struct json_writer *w, const struct http_route *routes, size_t count, const char *pattern)
{
	static const struct {
		unsigned method;
		const char *name;
	} methods[] = {{HTTP_GET, "get"}, {HTTP_POST, "post"}, {HTTP_PUT, "put"}, {HTTP_PATCH, "patch"},
		{HTTP_DELETE, "delete"}};

	json_key(w, pattern);
	json_object(w);
	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < sizeof methods / sizeof *methods &&
				   span_equal(span_from(routes[i].pattern), span_from(pattern));
			j++)
			if (is_told(&routes[i]) && routes[i].methods & methods[j].method) {
				json_key(w, methods[j].name);
				write_operation(w, &routes[i]);
			}
	json_object_end(w);
}

static bool is_first(const struct http_route *routes, size_t at)
{
	for (size_t i = 0; i < at; i++)
		if (is_told(&routes[i]) && span_equal(span_from(routes[i].pattern), span_from(routes[at].pattern)))
			return false;
	return true;
}

enum status api_openapi(void *context, void *worker, const struct http_request *request, struct http_response *response,
	struct error *err)
{
	struct json_writer w = api_reply(response);
	const struct api *api = context;
	const struct http_server *server = api->server;
	size_t count = 0;
	const struct http_route *routes = server ? http_server_routes(server, &count) : api_routes(&count);

	(void)worker;
	(void)request;
	json_object(&w);
	json_put_text(&w, "openapi", "3.1.0");
	json_key(&w, "info");
	json_object(&w);
	json_put_text(&w, "title", "smfleet");
	json_put_text(&w, "version", SM_VERSION);
	json_object_end(&w);
	json_key(&w, "paths");
	json_object(&w);
	for (size_t i = 0; i < count; i++)
		if (is_told(&routes[i]) && is_first(routes, i))
			write_path(&w, routes, count, routes[i].pattern);
	json_object_end(&w);
	json_object_end(&w);
	return buf_status(&response->body, err);
}
