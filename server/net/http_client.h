/*
 * Job: outgoing HTTP by libcurl, many requests at once, with deadlines and an address check at the moment of connecting (so that a name that
 *      changes its address between check and use gains nothing). The only user of libcurl.
 * Ownership: new/free. Threads: a client belongs to one thread; only wake and cancel may come from another.
 */
#pragma once

#include "base/buf.h"

struct http_client;

struct http_client_options {
	int64_t connect_ms; /* 5 s */
	int64_t total_ms; /* 15 s */
	bool allows_private; /* loopback, RFC 1918, unique local addresses */
	size_t reply_bytes; /* of a body are kept, and a longer one breaks off; 0: 4 KiB */
	const char *user_agent;
	const char *ca_file; /* instead of the system's authorities; NULL: these */
};

enum status http_client_new(
	struct http_client **out, const struct http_client_options *options, struct error *err) MUST_CHECK;
/* What is under way is dropped. */
void http_client_free(struct http_client *client);
/* From any thread: the wait under way returns, or the next one at once. */
void http_client_wake(struct http_client *client);
/* From any thread: the wait under way and all later ones return false at once. */
void http_client_cancel(struct http_client *client);

struct http_client_header {
	const char *name;
	const char *value;
};

struct http_client_request {
	const char *url;
	const struct http_client_header *headers;
	size_t header_count;
	struct span body;
	bool is_get; /* without a body */
	/* By AWS's Signature Version 4: "aws:amz:REGION:SERVICE", and "KEY-ID:SECRET"; NULL: unsigned. */
	const char *aws_scope, *aws_credentials;
};

/* Begins a POST, or a GET, beside those under way. ERR_INVALID: not an http or https URL, or a header with a line end. */
enum status http_client_start(struct http_client *client, const struct http_client_request *request, void *context,
	struct error *err) MUST_CHECK;

/*
 * status OK: an answer came, code is its status; the first reply_bytes of its body are in reply until the next start or wait; no
 * redirect is followed. ERR_FORBIDDEN: the address is refused (link-local and metadata addresses always are); ERR_IO: no
 * answer, or one that broke off: the text says why.
 */
struct http_client_answer {
	void *context; /* of the start */
	enum status status;
	struct error err;
	int code;
	int64_t retry_after_s; /* as the answer asked; 0: it did not */
	struct span reply;
	bool is_cut; /* the reply was longer */
};
/* Moves all that is under way on. True: one of them is over. False: none was within the time, or a wake came, or bytes. */
bool http_client_wait(struct http_client *client, int64_t timeout_ms, struct http_client_answer *out);
/* Gives one of those under way up; its context; NULL: none was. */
void *http_client_drop(struct http_client *client);

AUTO_TYPE(http_client)
