#include "http/router.h"
#include "request_helper.h"

static const struct http_route routes[] = {
	{.methods = HTTP_GET, .pattern = "/"},
	{.methods = HTTP_GET, .pattern = "/api/v1/jobs", .query = "q sort limit cursor fields total"},
	{.methods = HTTP_POST, .pattern = "/api/v1/jobs"},
	{.methods = HTTP_GET | HTTP_PATCH, .pattern = "/api/v1/jobs/{job}", .query = "*"},
	{.methods = HTTP_DELETE, .pattern = "/api/v1/jobs/{job}"},
	{.methods = HTTP_POST, .pattern = "/api/v1/jobs/special"},
	{.methods = HTTP_POST, .pattern = "/api/v1/jobs/{job}/transitions"},
	{.methods = HTTP_GET, .pattern = "/api/v1/jobs/{job}/streams/{stream}/lines"},
	{.methods = HTTP_GET, .pattern = "/files/{path...}"},
	{.methods = HTTP_GET, .pattern = "/{rest...}"},
};

/* want: index of the route, or -1 for 404, -2 for 405. */
static void check_route(const char *method, const char *target, int want, const char *parameters)
{
	AUTO(router) router = NULL;
	AUTO_DONE(http_request) request = request_for(method, target);
	AUTO_DONE(buf) got = BUF_INIT(1000);

	CHECK_OK(router_new(&router, routes, sizeof routes / sizeof *routes, &err));
	struct router_match match = router_find(router, &request);
	int index = match.route ? (int)(match.route - routes) : match.allowed ? -2 : -1;
	if (index != want)
		test_fail(__FILE__, __LINE__, "%s %s is %d, not %d", method, target, index, want);
	for (unsigned i = 0; match.route && i < request.parameter_count; i++) {
		buf_append_text(&got, i ? "|" : "");
		buf_append_span(&got, http_request_segment(&request, i));
	}
	CHECK_SPAN(buf_span(&got), span_from(parameters));
}

TEST(route_table)
{
	check_route("GET", "/", 0, "");
	check_route("GET", "/api/v1/jobs", 1, "");
	check_route("HEAD", "/api/v1/jobs/", 1, "");
	check_route("POST", "/api/v1/jobs", 2, "");
	check_route("GET", "/api/v1/jobs/a%2Fb", 3, "a/b");
	check_route("PATCH", "/api/v1/jobs/jobs", 3, "jobs");
	check_route("DELETE", "/api/v1/jobs/..", 4, "..");
	check_route("POST", "/api/v1/jobs/special", 5, "");
	check_route("GET", "/api/v1/jobs/special", 3, "special");
	check_route("GET", "/api/v1/jobs/transitions", 3, "transitions");
	check_route("POST", "/api/v1/jobs/x/transitions", 6, "x");
	check_route("GET", "/api/v1/%6Aobs/x/streams/algo-1/lines", 7, "x|algo-1");
	check_route("GET", "/files/a/b%20c/d", 8, "a/b c/d");
	check_route("GET", "/files", 9, "files"); /* no file of it */
	check_route("GET", "/files/", 9, "files/");
	check_route("GET", "/any/where", 9, "any/where");
	check_route("GET", "/1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/17/18", 9,
		"1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/17/18");
}

TEST(wrong_methods_and_unknown_paths)
{
	check_route("DELETE", "/api/v1/jobs", -2, "");
	check_route("GET", "/api/v1/jobs/x/transitions", -2, ""); /* though "/{rest...}" has it */
	check_route("BREW", "/api/v1/jobs", -2, "");
	check_route("POST", "/any/where", -1, ""); /* and not "use GET" */
	check_route("POST", "/api/v1/jobs//transitions", -1, "");
}

TEST(allowed_methods_are_those_of_all_routes_of_the_path)
{
	AUTO(router) router = NULL;
	AUTO_DONE(http_request) request = request_for("PUT", "/api/v1/jobs/special");
	char text[ROUTER_ALLOW_BYTES];

	CHECK_OK(router_new(&router, routes, sizeof routes / sizeof *routes, &err));
	router_allow_text(router_find(router, &request).allowed, text);
	CHECK_TEXT(text, "GET, HEAD, POST, PATCH, DELETE, OPTIONS");
	router_allow_text(~0u, text);
	CHECK_TEXT(text, "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS");
}

TEST(bad_patterns_are_found_at_the_start)
{
	struct router *router;
	struct http_route bad[] = {{.pattern = "jobs"}};
	struct http_route endless[] = {{.pattern = "/{rest...}/more"}};

	CHECK_FAILS(router_new(&router, bad, 1, &err), ERR_INTERNAL, "'jobs'");
	CHECK_FAILS(router_new(&router, endless, 1, &err), ERR_INTERNAL, "goes on");
}

static void check_query(const struct http_route *route, const char *target, const char *words)
{
	AUTO_DONE(http_request) request = request_for("GET", target);

	if (words)
		CHECK_FAILS(router_check_query(route, &request, &err), ERR_INVALID, words);
	else
		CHECK_OK(router_check_query(route, &request, &err));
}

TEST(unknown_query_parameters_name_the_nearest)
{
	check_query(&routes[1], "/?q=1&limit=2&total=true", NULL);
	check_query(&routes[1], "/?limt=2", "did you mean 'limit'?");
	check_query(&routes[1], "/?Limit=2", "did you mean 'limit'?");
	check_query(&routes[1], "/?cursro=2", "did you mean 'cursor'?");
	check_query(&routes[1], "/?filed=2", "did you mean 'fields'?");
	check_query(&routes[1], "/?something_else=2", "known are: q sort limit");
	check_query(&routes[2], "/?x=1", "takes none");
	check_query(&routes[3], "/?x=1", NULL);
	check_query(&routes[2], "/", NULL);
}
