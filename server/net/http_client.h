/*
 * Job: outgoing HTTP by libcurl, with deadlines and an address check at the moment of connecting (so that a name that
 *      changes its address between check and use gains nothing). The only user of libcurl.
 * Ownership: new/free. Threads: a client belongs to one thread; only http_client_cancel may come from another.
 */
#pragma once

#include "base/buf.h"

struct http_client;

struct http_client_options {
	int64_t connect_ms; /* 5 s */
	int64_t total_ms; /* 15 s */
	bool allows_private; /* loopback, RFC 1918, unique local addresses */
	const char *user_agent;
};

enum status http_client_new(
	struct http_client **out, const struct http_client_options *options, struct error *err) MUST_CHECK;
void http_client_free(struct http_client *client);
/* From any thread: the post under way and all later ones end at once with ERR_UNAVAILABLE. */
void http_client_cancel(struct http_client *client);

struct http_client_header {
	const char *name;
	const char *value;
};

/*
 * POSTs; follows no redirect. OK: an answer came, *code is its status; the first 4 KiB of its body go to reply (may be NULL).
 * ERR_FORBIDDEN: the address is refused (link-local and metadata addresses always are); ERR_IO: no answer, the text
 * says why; ERR_INVALID: not an http or https URL.
 */
enum status http_client_post(struct http_client *client, const char *url, const struct http_client_header *headers,
	size_t header_count, struct span body, int *code, struct buf *reply, struct error *err) MUST_CHECK;

AUTO_TYPE(http_client)
