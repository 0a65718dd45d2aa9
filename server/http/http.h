/*
 * Job: incoming HTTP as the rest of the server sees it: a route table, requests, replies, uploads that are consumed as
 *      they arrive, streams that are written as things happen. libmicrohttpd stays inside mhd.c.
 * Ownership: a request and what it returns live until its handler has answered; replies own their body.
 * Threads: I/O threads (libmicrohttpd's pool) run INLINE, UPLOAD and STREAM callbacks and must never block;
 *      worker threads run WORKER handlers and may. See each type.
 */
#pragma once

#include "base/buf.h"
#include "base/json/json_write.h"

#include <stdatomic.h>
#include <sys/types.h>

enum http_method { HTTP_GET = 1, HTTP_POST = 2, HTTP_PUT = 4, HTTP_PATCH = 8, HTTP_DELETE = 16, HTTP_OPTIONS = 32 };

/* What a token, or a person, may do. ADMIN may all; WRITE sends and changes, READ looks. */
enum http_scope { SCOPE_PUBLIC, SCOPE_READ, SCOPE_WRITE, SCOPE_ADMIN };
const char *http_scope_name(enum http_scope scope);
bool http_scope_parse(struct span name, enum http_scope *out);

/* Who is asking. */
struct principal {
	enum http_scope scope;
	char name[256]; /* of the token, or of the person; "" when no token is needed */
	char team[64]; /* "" : none */
	uint64_t rate_requests_per_s, rate_bytes_per_s; /* its own limits; 0: the server's */
	uint64_t id; /* for rate limits: of the token; 0 for all who need none */
	uint64_t session, session_until_s; /* of a browser that has signed in; 0: none */
	bool is_person; /* without a token: a trusted proxy names them with each request, or a provider has signed them in (session) */
};

/* May whoever asks use a route that needs `needs`? A token that writes reads nothing; a person who writes reads, too. */
bool http_may(const struct principal *principal, enum http_scope needs);
/* ERR_FORBIDDEN names the scope that is needed. */
enum status http_check_scope(const struct principal *principal, enum http_scope needs, struct error *err) MUST_CHECK;

struct http_request;

enum http_method http_request_method(const struct http_request *request);
/* The i-th {parameter} of the route's pattern, percent-decoded, valid UTF-8 without NUL. */
struct span http_request_segment(const struct http_request *request, unsigned i);
/* The whole decoded path, for logs and fallbacks. */
struct span http_request_path(const struct http_request *request);
/* A query parameter, decoded ("+" is a space); false: absent. The first wins; the router has refused unknown names. */
bool http_request_query(const struct http_request *request, const char *name, struct span *value);
/* The i-th of them as they came; false: there are no more. */
bool http_request_query_at(const struct http_request *request, size_t i, struct span *name, struct span *value);
struct span http_request_header(const struct http_request *request, const char *name); /* empty: absent */
struct span http_request_cookie(const struct http_request *request, const char *name); /* empty: absent */
struct http_header {
	struct span name, value;
};
/* All of them as they came, at most `most`; how many there are. */
size_t http_request_headers(const struct http_request *request, struct http_header *out, size_t most);
/* Of who is connected, as text: behind a proxy that is the proxy. WORKER handlers. */
struct span http_request_address(const struct http_request *request);
/* What limits of one address hold for: of IPv6 the /64; empty: none, as many may be behind it (--proxies). WORKER handlers. */
struct span http_request_network(const struct http_request *request);
struct span http_request_body(const struct http_request *request); /* WORKER and INLINE: whole, decompressed */
const struct principal *http_request_principal(const struct http_request *request);
int64_t http_request_arrival_ms(const struct http_request *request);
/* Nobody waits for the reply any more: the client has gone, or the server stops. WORKER handlers, any thread of theirs. */
bool http_request_is_over(const struct http_request *request);
/* That other threads have run for a slow request; its worker's own time is known. WORKER handlers. */
void http_request_charge(const struct http_request *request, int64_t cpu_ns);

/* Query parameters with their type; unchanged when absent. ERR_INVALID (400) with field: no such value, or not min to max. */
enum status http_query_i64(const struct http_request *request, const char *name, int64_t min, int64_t max, int64_t *out,
	struct error *err) MUST_CHECK;
enum status http_query_bool(
	const struct http_request *request, const char *name, bool *out, struct error *err) MUST_CHECK;

/* A reply too long for memory: after the handler, `more` is called on a worker each time when the last batch was sent. */
struct http_producer_ops {
	/* Appends to out (which is empty) what comes next. An error cuts the reply off, so that the client sees it. */
	enum status (*more)(void *state, void *worker, struct buf *out, bool *is_done, struct error *err);
	void (*free)(void *state);
};

struct http_response {
	int status; /* 200 at the start */
	const char *content_type; /* static; "application/json" at the start */
	struct buf body;
	struct {
		const char *name; /* static */
		char *value;
	} headers[8];
	unsigned header_count;
	char *location; /* NULL: it leads nowhere */
	const struct http_producer_ops *producer; /* NULL: the body is whole */
	void *producer_state;
};

void http_response_header(struct http_response *response, const char *name, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* One more, beside those of other names. */
void http_response_cookie(struct http_response *response, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* 303: the browser goes on there, however long the address is. Copied; what no header may hold is not in it. */
void http_response_redirect(struct http_response *response, struct span location);
/* Of a refusal, by its status: when to try again, and whether who asks is not known or may not; these are all of its headers. */
void http_response_explain(struct http_response *response, const struct error *err, const char *challenge);
/* Who may show this page in a frame: a list as of Content-Security-Policy's frame-ancestors, at most 200 bytes. */
void http_response_frames(struct http_response *response, const char *ancestors);
/* The body so far is the first batch; state is freed with the reply, however that ends. WORKER handlers only. */
void http_response_produce(struct http_response *response, const struct http_producer_ops *ops, void *state);
/* Replaces what was written by application/problem+json (RFC 9457). The only place where a status becomes a code. */
void http_response_problem(struct http_response *response, const struct error *err);
int http_status_of(enum status status);

/* context: the route table's owner. worker: what worker_new made for this thread; NULL on I/O threads. */
typedef enum status http_handler(void *context, void *worker, const struct http_request *request,
	struct http_response *response, struct error *err);

/*
 * An upload that is consumed as it arrives. All four run on I/O threads, one at a time for one upload.
 * feed and finish may return with *must_wait set: the connection is then suspended until http_upload_resume(handle),
 * which may be called from any thread, also before feed returned. feed has taken all its bytes nevertheless; finish is
 * called again after the resume. An error from any of them becomes the reply; what is left of the body is drained
 * (up to 8 MiB or 2 s) so that the client reads it; after that the connection closes.
 * A body with Content-Encoding snappy is handed over as it is: a block can only be unpacked whole.
 * abort: the client went away or an error was returned; finish will not come. Exactly one of finish (without wait) and
 * abort ends the upload, and frees `upload`.
 */
struct http_upload; /* handle of the transport */
struct http_upload_ops {
	enum status (*begin)(void *context, const struct http_request *request, struct http_upload *handle,
		void **upload, struct error *err);
	enum status (*feed)(void *upload, struct span bytes, bool *must_wait, struct error *err);
	enum status (*finish)(void *upload, struct http_response *response, bool *must_wait, struct error *err);
	void (*abort)(void *upload);
};
void http_upload_resume(struct http_upload *handle);

/*
 * A WORKER handler's reply that another thread ends: the handler defers, gives the handle and its response away, and returns
 * OK without touching either again. Whoever has them fills the response and calls http_deferred_end once, from any thread.
 * http_deferred_cancel: nobody took them, the handler goes on as if it had never deferred.
 */
struct http_deferred;
struct http_deferred *http_defer(const struct http_request *request);
void http_deferred_cancel(struct http_deferred *handle);
void http_deferred_end(struct http_deferred *handle, enum status status, struct error *err);

/*
 * A reply that is written as things happen (SSE, long exports). open runs on an I/O thread. read runs on an I/O thread:
 * writes at most room bytes and returns how many; 0 = nothing now: suspended until http_stream_wake, which may be called
 * from any thread at any time until free; -1 = the end.
 */
struct http_stream;
struct http_stream_ops {
	enum status (*open)(void *context, const struct http_request *request, struct http_stream *handle,
		void **stream, struct http_response *head, struct error *err); /* head: content type and headers only */
	ssize_t (*read)(void *stream, char *out, size_t room);
	void (*free)(void *stream); /* no wake may come afterwards: free must make sure of that */
};
void http_stream_wake(struct http_stream *handle);

enum http_route_kind { ROUTE_INLINE, ROUTE_WORKER, ROUTE_UPLOAD, ROUTE_STREAM };

struct http_route {
	unsigned methods; /* of enum http_method */
	const char *pattern; /* "/api/v1/jobs/{job}/points"; "{rest...}" as the last segment takes all that is left */
	enum http_scope scope;
	enum http_route_kind kind;
	http_handler *handler;
	const struct http_upload_ops *upload;
	const struct http_stream_ops *stream;
	const char *query; /* names of the query parameters it knows, separated by spaces; "*" : any */
	size_t max_body_bytes; /* of a buffered body; 0: no body */
	const char *
		body; /* members of its JSON object, "name!:string columns:array" (!: must be there); NULL: it takes no JSON */
	/* Instead of body: writes its requestBody into its operation of the OpenAPI document. Pure. */
	void (*describe)(const struct http_route *route, struct json_writer *w);
	bool is_signable; /* with sig= in its address a GET needs neither token nor origin: hooks.check_signature says */
	const char *audit; /* what it changes, as the audit log calls it: "jobs"; NULL: nothing, or it takes lines */
	const char *summary; /* for the OpenAPI document; NULL: it is not told of there */

	/* What doors of another protocol have of their own; each may be left out. */
	void *context; /* instead of the hooks' */
	/* Of several with the same pattern: only requests of which it says so, and these before the others. I/O threads. */
	bool (*is_meant)(const struct http_request *request);
	/* WORKER: may it take long, so that it has to keep to the workers for such requests? I/O threads; NULL: never. */
	bool (*is_slow)(const struct http_request *request);
	bool is_raw; /* the body is handed over as it came: with whatever Content-Encoding */
	/* Instead of the hooks' authenticate: I/O threads, must not block. What needs the body is the handler's to check. */
	enum status (*admit)(
		void *context, const struct http_request *request, struct principal *out, struct error *err);
	/* A refusal in that protocol's form, instead of problem+json: of the transport's, and of handlers. */
	void (*refuse)(void *context, const struct http_request *request, const struct error *err,
		struct http_response *response);
};

struct http_options {
	const char *listen; /* "127.0.0.1:8080", "[::1]:0"; port 0: any free one */
	unsigned io_threads;
	unsigned workers;
	unsigned slow_workers; /* beside these, for slow requests */
	size_t max_connections;
	size_t max_pending; /* requests that wait for a worker; more are 429 */
	uint64_t max_upload_bytes; /* of one upload after decompression; 0: none (endless uploads are normal) */
	const char *tls_cert_file; /* both or none */
	const char *tls_key_file;
	const char *tls_client_ca_file; /* who writes must show a certificate of these authorities; NULL: nobody */
	const char *allowed_hosts; /* separated by commas, beside localhost, literal addresses and what it listens on */
	const char *public_url; /* "" or the origin that browsers see behind a proxy */
	const char *cors_origins; /* whose pages may read, by a token in their header; separated by commas */
	uint64_t rate_requests_per_s; /* per principal, 0: no limit; bursts of 2 s */
	uint64_t rate_bytes_per_s;
	uint64_t rate_cpu_ms_per_s; /* of slow requests; bursts of 60 s */
	unsigned drain_bytes; /* of a refused body: 8 MiB */
	unsigned drain_ms; /* 2000 */
	unsigned idle_timeout_s;
	size_t max_connections_an_address; /* 0: no limit */
	const char *proxies; /* addresses without it, separated by commas */
	const char *trusted_proxies; /* addresses and networks that may name people; "": none may */
	const char *proxy_user_header, *proxy_groups_header; /* by which they do */
	int64_t header_ms; /* for a whole header; 0: no limit */
	uint64_t body_bytes_per_s; /* of a buffered body at least; 0: no limit */
};

struct http_hooks {
	void *context; /* handed to all handlers */
	/* I/O threads; must not block. token is empty when none was sent. ERR_UNAUTHORIZED when it is unknown or missing. */
	enum status (*authenticate)(void *context, struct span token, struct principal *out, struct error *err);
	/* The same of a person whom a trusted proxy names. ERR_FORBIDDEN when nobody lets that person in. */
	enum status (*authenticate_person)(
		void *context, struct span name, struct span groups, struct principal *out, struct error *err);
	/* The same of a request whose address has sig=. ERR_FORBIDDEN when it is not this address's, or has expired. */
	enum status (*check_signature)(
		void *context, const struct http_request *request, struct principal *out, struct error *err);
	/*
	 * Is whoever was let in still somebody? Asked of what goes on (streams, uploads, long replies) after each
	 * http_server_recheck. Any thread, must not block; NULL: always.
	 */
	bool (*is_known)(void *context, const struct principal *principal);
	/*
	 * Before each handler, and before each batch of a long reply: the worker's own things are to show what whoever asks may see. An
	 * error is the reply; NULL: everybody may see all.
	 */
	enum status (*see_as)(void *context, void *worker, const struct principal *principal, struct error *err);
	/* Around the handler of a route with `audit`, on its worker; NULL: nobody wants to know. */
	void (*enter)(void *context, void *worker, const struct http_request *request, const struct http_route *route);
	void (*leave)(void *context);
	/* A handler has answered ERR_FORBIDDEN: what is said instead, or the same again; on its worker. NULL: always the same. */
	enum status (*forbidden)(void *context, void *worker, const struct http_request *request,
		const struct http_route *route, struct error *err);
	/* One worker's own things (a read-only database connection). */
	enum status (*worker_new)(void *context, void **worker, struct error *err);
	void (*worker_free)(void *worker);
};

/* Figures for /metrics and the status line. */
struct http_counters {
	atomic_uint_fast64_t requests;
	atomic_uint_fast64_t refused_auth;
	atomic_uint_fast64_t refused_busy;
	atomic_uint_fast64_t errors_4xx;
	atomic_uint_fast64_t errors_5xx;
	atomic_uint_fast64_t bytes_in;
	atomic_uint_fast64_t connections;
	atomic_uint_fast64_t refused_connections; /* of an address that had too many */
	atomic_uint_fast64_t streams;
	atomic_uint_fast64_t slow; /* slow requests that wait for a worker or are at work */
	atomic_uint_fast64_t cut_replies; /* that began with a 200 and could not be made whole */
};

struct http_server;

/*
 * Two steps, for a server that is there before it can serve. From http_server_listen on connections are taken, and `before` answers
 * each request (I/O threads: it must not block; context is NULL). From http_server_serve on the routes do, also on connections that
 * were open before. Routes and hooks outlive the server. ERR_IO when the address cannot be bound.
 */
enum status http_server_listen(struct http_server **out, const struct http_options *options, http_handler *before,
	struct error *err) MUST_CHECK;
/* Once; after an error the server can only be freed. */
enum status http_server_serve(struct http_server *server, const struct http_route *routes, size_t route_count,
	const struct http_hooks *hooks, struct error *err) MUST_CHECK;
unsigned http_server_port(const struct http_server *server);
const struct http_route *http_server_routes(const struct http_server *server, size_t *count);
const struct http_counters *http_server_counters(const struct http_server *server);

/* Who is known has changed: what goes on for those who are not any more ends. Any thread. */
void http_server_recheck(struct http_server *server);

/*
 * The stop order: quiesce (requests that are not ingest are still answered; new uploads get 503),
 * then the caller drains its writer, then end_streams (every stream is woken and ends; suspended uploads must have been
 * resumed by the writer), then free (waits for what is under way, at most deadline_ms, and stops the daemon).
 */
void http_server_quiesce(struct http_server *server);
void http_server_end_streams(struct http_server *server);
/* Uploads that wait for what does not come are closed without an answer; whoever owes their wake-up keeps what is theirs. Any thread. */
void http_server_give_up(struct http_server *server);
void http_server_free(struct http_server *server, int64_t deadline_ms);
/* Instead of those of the options, from now on. */
/* From its files, for connections that come. *is_new: it is another one. An error: the old one stays. One at a time. */
enum status http_server_reread_certificate(struct http_server *server, bool *is_new, struct error *err) MUST_CHECK;
void http_server_set_rates(struct http_server *server, uint64_t requests_per_s, uint64_t bytes_per_s);
