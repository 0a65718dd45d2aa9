/* First line: method and target; further lines: headers. Parsed, routed, guarded as a request would be. */
#include "http/guard.h"
#include "http/router.h"

#include <stdlib.h>

static const struct http_route routes[] = {
	{.methods = HTTP_GET, .pattern = "/"},
	{.methods = HTTP_GET, .pattern = "/api/v1/jobs", .query = "q sort limit cursor fields total"},
	{.methods = HTTP_GET | HTTP_PATCH, .pattern = "/api/v1/jobs/{job}", .query = ""},
	{.methods = HTTP_POST, .pattern = "/api/v1/jobs/{job}/streams/{stream}/{n}/{m}"},
	{.methods = HTTP_GET, .pattern = "/{rest...}", .query = "*"},
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool is_true)
{
	if (!is_true)
		abort();
}

static void check_route(struct http_request *request)
{
	AUTO(router) router = NULL;
	struct error err;
	int64_t limit = 1;

	require(router_new(&router, routes, sizeof routes / sizeof *routes, &err) == OK);
	struct router_match match = router_find(router, request);
	if (!match.route)
		return;
	for (unsigned i = 0; i < request->parameter_count; i++)
		require(span_is_utf8(request->parameters[i]) &&
			!memchr(request->parameters[i].ptr, 0, request->parameters[i].len));
	if (router_check_query(match.route, request, &err) == OK &&
		http_query_i64(request, "limit", 0, 9, &limit, &err) == OK)
		require(limit >= 0 && limit <= 9);
}

static void check_headers(struct http_request *request, struct span lines)
{
	AUTO(guard) guard = NULL;
	struct guard_options options = {"127.0.0.1:8080", "fleet.example, localhost:5173", "https://metrics.example",
		false, "https://grafana.example"};
	struct error err;
	struct span line;

	while (span_next(&lines, '\n', &line)) {
		ptrdiff_t colon = span_find_char(line, ':');
		if (colon > 0)
			require(request_add_header(request, span_of(line.ptr, (size_t)colon),
					span_trim(span_skip(line, (size_t)colon + 1)), &err) == OK);
	}
	struct span host = http_request_header(request, "Host");
	require(guard_new(&guard, &options, &err) == OK);
	enum status status = guard_check_host(guard, host, &err);
	require(status == OK || status == ERR_MISDIRECTED || status == ERR_INVALID);
	status = guard_check_origin(guard, host, http_request_header(request, "Origin"),
		http_request_header(request, "Sec-Fetch-Site"), &err);
	require(status == OK || status == ERR_FORBIDDEN);
	guard_token(guard, http_request_header(request, "Authorization"), http_request_header(request, "Cookie"));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct span rest = span_of((const char *)data, size), line, method;
	struct http_request request;
	struct error err;

	if (!size || !span_next(&rest, '\n', &line) || !span_next(&line, ' ', &method))
		return 0;
	require(request_init(&request, &err) == OK);
	request_set_method(&request, method);
	if (line.ptr && request_parse_target(&request, line, &err) == OK) {
		require(request.path.len > 0 && request.path.ptr[0] == '/' && span_is_utf8(request.path));
		check_route(&request);
	}
	check_headers(&request, rest);
	request_done(&request);
	return 0;
}
