/*
 * Job: requests to an smfleet server over HTTP/1.1, kept-alive, with TLS, deadlines and a bound on the reply. Of several addresses,
 *      which are of one database, the one that answered last is asked, and the next one when it is away.
 *      The only user of mbed TLS's TLS; there is no libcurl here, so that sm-ship can be one static file.
 * Ownership: new/free. Threads: one at a time, but for http_client_give_up_at.
 */
#pragma once

#include "base/buf.h"
#include "cli/http/http_reply.h"

struct http_client;

struct http_client_options {
	const char *server; /* as url_parse takes it; or several, separated by commas */
	const char *token; /* for Authorization: Bearer; NULL: none */
	const char *ca_file; /* NULL: the system's */
	const char *cert_file, *key_file; /* one's own, where the server asks for one; both or none */
	const char *agent; /* User-Agent */
	int64_t connect_timeout_ms;
	int64_t request_timeout_ms; /* everything, connecting included; each address */
	size_t max_reply_bytes;
};

struct http_request {
	const char *method;
	struct span path; /* percent-encoded, with its query */
	const char *content_type;
	const char *accept; /* NULL: JSON */
	const char *headers; /* more of them, each with its \r\n; NULL: none */
	struct span body; /* zstd goes over the line when it is worth it */
	bool is_once; /* taken twice it counts twice: whether it was taken is for the caller to find out */
};

/* ERR_INVALID: an address that is none, or more than HTTP_CLIENT_MAX_SERVERS. */
enum { HTTP_CLIENT_MAX_SERVERS = 8 };
enum status http_client_new(
	struct http_client **out, const struct http_client_options *options, struct error *err) MUST_CHECK;
void http_client_free(struct http_client *client);

/*
 * OK when a whole reply came, whatever its status; *reply is initialised by the call and must be ended by the caller
 * either way. ERR_UNAVAILABLE: no connection, no reply in time; ERR_INVALID: not HTTP; ERR_TOO_LARGE. Who does not answer, or by 503, is
 * away: each other address is asked once, but for a request that is_once and may have been taken; that one's next try asks another.
 */
enum status http_client_send(struct http_client *client, const struct http_request *request, struct http_reply *reply,
	struct error *err) MUST_CHECK;

/* The address that is asked now. */
struct span http_client_server(const struct http_client *client);
/* From any thread: whatever runs then fails at this time of the monotonic clock (0: no such limit). */
void http_client_give_up_at(struct http_client *client, int64_t mono_ms);

AUTO_TYPE(http_client)
