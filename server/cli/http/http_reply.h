/*
 * Job: bytes of an HTTP/1.1 reply, in whatever pieces they arrive -> status, the few headers we use, body.
 * Ownership: the body belongs to the reply. Threads: one at a time. Pure: no sockets.
 * Source: RFC 9112.
 */
#pragma once

#include "base/buf.h"

enum http_reply_state {
	HTTP_REPLY_HEAD,
	HTTP_REPLY_BODY_SIZED,
	HTTP_REPLY_BODY_TO_END, /* neither length nor chunks: until the connection ends */
	HTTP_REPLY_CHUNK_SIZE,
	HTTP_REPLY_CHUNK_DATA,
	HTTP_REPLY_CHUNK_END, /* the line end behind a chunk */
	HTTP_REPLY_TRAILER,
	HTTP_REPLY_COMPLETE,
};

struct http_reply {
	int status_code;
	int retry_after_s; /* 0: not stated */
	bool is_problem; /* application/problem+json */
	bool is_json; /* that or application/json */
	bool lacks_scope; /* 403 of who asks, whatever is asked (WWW-Authenticate) */
	bool closes; /* the connection cannot be used again */
	struct buf body; /* max_bytes bounds the reply */

	enum http_reply_state state;
	bool has_bytes; /* anything came at all */
	bool is_chunked;
	bool has_length;
	uint64_t rest_bytes; /* of the sized body or the chunk */
	struct buf line; /* a head or size line that is not whole yet */
	size_t head_bytes;
};

void http_reply_init(struct http_reply *reply, size_t max_body_bytes);
void http_reply_done(struct http_reply *reply);

/* Takes bytes; ERR_INVALID: no HTTP; ERR_TOO_LARGE: more than allowed. What follows a complete reply is an error. */
enum status http_reply_feed(struct http_reply *reply, struct span bytes, struct error *err) MUST_CHECK;
/* The connection has ended: OK when the reply is whole. */
enum status http_reply_end(struct http_reply *reply, struct error *err) MUST_CHECK;
bool http_reply_is_complete(const struct http_reply *reply);

AUTO_DONE_TYPE(http_reply)
