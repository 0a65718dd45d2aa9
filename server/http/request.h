/*
 * Job: what http_request is inside: the target taken apart (split at '/' BEFORE decoding, so that a job may be called
 *      "a/b"), headers, principal, body.
 * Ownership: everything that its spans point to is in its arena, and the body in its buf; request_done frees both.
 * Threads: one at a time; the thread that answers reads it while no other writes.
 */
#pragma once

#include "base/arena.h"
#include "http/http.h"

enum { REQUEST_MAX_SEGMENTS = 16, REQUEST_MAX_PARAMETERS = 8, REQUEST_MAX_ARGUMENTS = 256 };

struct request_pair {
	struct request_pair *next;
	struct span name;
	struct span value;
};

struct request_pairs {
	struct request_pair *first;
	struct request_pair *last;
};

struct http_request {
	struct arena *arena;
	const struct http_request
		*asked_by; /* of a question that a handler asks another one: its own request; else NULL */
	enum http_method method; /* GET for HEAD; 0: none that we know */
	bool is_head;
	bool is_http_10;
	int64_t arrival_ms;
	char address[48];
	const char *network; /* the connection's */
	struct span path; /* decoded */
	size_t segment_count;
	struct span segments[REQUEST_MAX_SEGMENTS]; /* the first ones, decoded; they lie in path */
	unsigned parameter_count;
	struct span parameters[REQUEST_MAX_PARAMETERS]; /* of the route's pattern, set by the router */
	struct request_pairs query;
	struct request_pairs headers;
	struct principal principal;
	struct buf body;
};

enum status request_init(struct http_request *request, struct error *err) MUST_CHECK;
void request_done(struct http_request *request);

/* "HEAD" is a GET without a body. */
void request_set_method(struct http_request *request, struct span method);
enum status request_add_header(
	struct http_request *request, struct span name, struct span value, struct error *err) MUST_CHECK;
/* The request line's target: "/path?query", or "http://host/path?query" as proxies send it. ERR_INVALID: bad escapes, NUL,
 * bytes that are not UTF-8. */
/* What an absolute target (http://NAME/…) names; ptr NULL: it is none. */
struct span request_target_authority(struct span target);
enum status request_parse_target(struct http_request *request, struct span target, struct error *err) MUST_CHECK;
