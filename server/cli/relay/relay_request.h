/*
 * Job: bytes of an HTTP/1.1 request -> method, path, query, the few headers that are used, body.
 * Ownership: spans are those of the bytes. Threads: any. Pure: no sockets. Source: RFC 9112.
 */
#pragma once

#include "base/buf.h"

enum { RELAY_HEAD_MAX_BYTES = 16 << 10 };

struct relay_request {
	struct span method, path, query; /* as sent, percent-encoded; query without its '?' */
	struct span authorization, content_type; /* "": not there */
	struct span writer; /* W&B's word for which of several processes it is */
	struct span body;
	bool closes; /* the connection after it */
	size_t whole_bytes; /* head and body */
};

/* *is_whole false: there is more to come. ERR_INVALID, ERR_UNSUPPORTED (chunks); ERR_TOO_LARGE: more than max_body_bytes. */
enum status relay_request_read(struct span bytes, size_t max_body_bytes, struct relay_request *out, bool *is_whole,
	struct error *err) MUST_CHECK;
/* A part of a path, decoded into the buf (emptied before). False: out of its room. */
bool relay_request_decode(struct span part, struct buf *out);
/* The value of a parameter of the query, decoded into the buf (emptied before). False: it has none. */
bool relay_request_query(const struct relay_request *request, const char *name, struct buf *out);
