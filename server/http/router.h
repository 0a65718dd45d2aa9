/*
 * Job: method and path -> route, by a table of patterns; the most specific pattern wins.
 * Ownership: the router borrows the route table. Threads: any, after router_new.
 */
#pragma once

#include "http/request.h"

struct router;

/* ERR_INTERNAL: a pattern that is none. */
enum status router_new(
	struct router **out, const struct http_route *routes, size_t count, struct error *err) MUST_CHECK;
void router_free(struct router *router);

struct router_match {
	const struct http_route *route; /* NULL: none has this path and method */
	unsigned allowed; /* the methods of all routes that have the path; 0: not found */
};
/* Sets the request's parameters when a route is found. */
struct router_match router_find(const struct router *router, struct http_request *request);

/* "GET, HEAD, POST, OPTIONS" */
enum { ROUTER_ALLOW_BYTES = 64 };
void router_allow_text(unsigned methods, char out[ROUTER_ALLOW_BYTES]);

/* ERR_INVALID for a query parameter that the route does not know, naming the nearest that it does. */
enum status router_check_query(
	const struct http_route *route, const struct http_request *request, struct error *err) MUST_CHECK;

AUTO_TYPE(router)
