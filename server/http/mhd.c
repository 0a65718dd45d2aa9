#include "http/mhd.h"
#include "http/server.h"
#include "http/tls_retrieve.h"

#include <arpa/inet.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>

/* Request headers, read buffer and reply headers of one connection: 1000 subscribers must stay cheap. */
enum { CONNECTION_BYTES = 16 << 10, STREAM_BLOCK_BYTES = 1024, BATCH_BLOCK_BYTES = 64 << 10 };

struct mhd {
	struct MHD_Daemon *daemon;
};

void mhd_suspend(struct MHD_Connection *connection)
{
	MHD_suspend_connection(connection);
}

void mhd_resume(struct MHD_Connection *connection)
{
	MHD_resume_connection(connection);
}

int mhd_socket(struct MHD_Connection *connection)
{
	return MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
}

bool mhd_is_certified(struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);
	gnutls_typed_vdata_st purpose = {GNUTLS_DT_KEY_PURPOSE_OID, (void *)GNUTLS_KP_TLS_WWW_CLIENT, 0};
	unsigned problems = 0;

	return info && gnutls_certificate_verify_peers(info->tls_session, &purpose, 1, &problems) == 0 && !problems;
}

const struct sockaddr *mhd_peer(struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);

	return info ? info->client_addr : NULL;
}

void mhd_address(struct MHD_Connection *connection, char *out, size_t room)
{
	const struct sockaddr *address = mhd_peer(connection);

	*out = 0;
	if (address && address->sa_family == AF_INET)
		inet_ntop(AF_INET, &((const struct sockaddr_in *)address)->sin_addr, out, (socklen_t)room);
	else if (address && address->sa_family == AF_INET6)
		inet_ntop(AF_INET6, &((const struct sockaddr_in6 *)address)->sin6_addr, out, (socklen_t)room);
}

/* A resumed connection is read again in any case, and then the end is seen. */
void mhd_notice_end(struct MHD_Connection *connection)
{
	char byte;

	if (recv(mhd_socket(connection), &byte, 1, MSG_PEEK | MSG_DONTWAIT) != 0)
		return;
	MHD_suspend_connection(connection);
	MHD_resume_connection(connection);
}

/* Not by lingering: libmicrohttpd shuts down before it closes, and that would be an end like any other. */
void mhd_reset(struct MHD_Connection *connection)
{
	struct sockaddr nowhere = {.sa_family = AF_UNSPEC};

	(void)connect(mhd_socket(connection), &nowhere, sizeof nowhere); /* one that fails is broken already */
}

bool mhd_has_left(struct MHD_Connection *connection)
{
	struct pollfd peer = {.fd = mhd_socket(connection), .events = POLLRDHUP};

	return poll(&peer, 1, 0) > 0 && peer.revents & (POLLRDHUP | POLLHUP | POLLERR);
}

void mhd_set_timeout(struct MHD_Connection *connection, unsigned timeout_s)
{
	MHD_set_connection_option(connection, MHD_CONNECTION_OPTION_TIMEOUT, timeout_s);
}

/* "%2F" must reach the router as it is. */
static size_t keep_escapes(void *unused, struct MHD_Connection *connection, char *text)
{
	(void)unused;
	(void)connection;
	return strlen(text);
}

/* A connection has the exchange: of a request that fails before its handler is called, completion is not told. */
static struct peer *peer_of(struct MHD_Connection *connection)
{
	return MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
}

const char *mhd_network(struct MHD_Connection *connection)
{
	const struct peer *peer = peer_of(connection);

	return peer ? peer_network(peer) : "";
}

static void end_exchange(struct peer *peer)
{
	struct exchange *exchange = *peer_exchange(peer);

	*peer_exchange(peer) = NULL;
	if (exchange)
		exchange_release(exchange);
}

/*
 * The library's list of arguments is not used, and one that outgrows its memory leaves the request without an answer until
 * its connection times out: what it reads them from, its own buffer, ends where they begin.
 */
static void hide_arguments(const char *target)
{
	char *mark = strchr(target, '?');

	if (mark)
		mark[1] = 0;
}

static void *on_target(void *context, const char *target, struct MHD_Connection *connection)
{
	struct peer *peer = peer_of(connection);

	if (!peer || !target)
		return NULL; /* the request is closed */
	end_exchange(peer);
	struct exchange *exchange = exchange_new(context, connection, span_from(target));
	if (exchange)
		exchange->behind_target = target + strlen(target) + 1;
	*peer_exchange(peer) = exchange;
	hide_arguments(target);
	return exchange;
}

static void on_completed(
	void *context, struct MHD_Connection *connection, void **exchange, enum MHD_RequestTerminationCode why)
{
	struct peer *peer = peer_of(connection);

	(void)context;
	(void)why;
	*exchange = NULL;
	if (!peer)
		return;
	end_exchange(peer);
	peer_awaits_header(peer);
}

static void on_connection(
	void *context, struct MHD_Connection *connection, void **peer, enum MHD_ConnectionNotificationCode what)
{
	struct http_server *server = context;

	if (what == MHD_CONNECTION_NOTIFY_STARTED) {
		atomic_fetch_add(&server->counters.connections, 1);
		*peer = peers_add(server->peers, mhd_socket(connection), mhd_peer(connection));
		return;
	}
	atomic_fetch_sub(&server->counters.connections, 1);
	if (*peer)
		end_exchange(*peer);
	peers_remove(server->peers, *peer);
	*peer = NULL;
}

/* Where in the library's buffer the next header must begin. */
struct head_copy {
	struct exchange *exchange;
	const char *next;
};

/* The library has put a NUL in place of CR and LF, or of LF alone; behind the last line of headers is an empty one. */
static const char *behind_line(const char *end)
{
	return end + 1 + (end[1] == 0);
}

/*
 * What is not between two headers that follow each other is no part of what the library read: of a line that begins with a NUL it
 * sees the end of the head, of a value the part before one, and a line that goes on in the next one (RFC 9112, 5.2) it puts behind
 * the header's name.
 */
static enum MHD_Result copy_header(void *context, enum MHD_ValueKind kind, const char *name, const char *value)
{
	struct head_copy *copy = context;
	const char *at = name + strlen(name) + 1;

	(void)kind;
	if (!value)
		return MHD_NO;
	copy->exchange->has_gap |= name != copy->next || value != at + strspn(at, " \t");
	copy->next = behind_line(value + strlen(value));
	return request_add_header(&copy->exchange->request, span_from(name), span_from(value), NULL) == OK ? MHD_YES
													   : MHD_NO;
}

static bool copy_headers(struct exchange *exchange, const char *method, const char *version)
{
	struct MHD_Connection *connection = exchange->connection;
	struct head_copy copy = {exchange, behind_line(version + strlen(version))};
	int count = MHD_get_connection_values(connection, MHD_HEADER_KIND, NULL, NULL);
	const union MHD_ConnectionInfo *size =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);

	if (!size || MHD_get_connection_values(connection, MHD_HEADER_KIND, copy_header, &copy) != count)
		return false;
	ptrdiff_t left = method + size->header_size - copy.next; /* the empty line, or none of it: after LF alone */
	exchange->has_gap |= left < 0 || left > 2;
	return true;
}

static ssize_t read_stream(void *context, uint64_t position, char *out, size_t room)
{
	struct exchange *exchange = context;
	ssize_t bytes = exchange->producer ? produce_read(exchange, out, room) : stream_read(exchange, out, room);

	(void)position;
	if (bytes == PRODUCE_FAILED)
		return MHD_CONTENT_READER_END_WITH_ERROR;
	return bytes < 0 ? MHD_CONTENT_READER_END_OF_STREAM : bytes;
}

static void add_header(void *context, const char *name, const char *value)
{
	MHD_add_response_header(context, name, value);
}

/* For the browser of a page of elsewhere (Fetch, CORS protocol). Without Allow-Credentials: cookies never count. */
static void add_leave(const struct exchange *exchange, struct MHD_Response *response)
{
	char origin[512];

	if (!guard_has_readers(exchange->server->guard))
		return;
	add_header(response, "Vary", "Origin");
	if (!exchange->is_across)
		return;
	snprintf(origin, sizeof origin, "%.*s", SPAN_ARGS(http_request_header(&exchange->request, "Origin")));
	add_header(response, "Access-Control-Allow-Origin", origin);
	add_header(response, "Access-Control-Expose-Headers", "ETag, Retry-After, Server-Timing");
}

static struct MHD_Response *make_response(struct exchange *exchange, bool is_stream)
{
	struct http_response *reply = exchange->reply;
	struct MHD_Response *response;
	size_t len;

	if (is_stream) {
		response = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN,
			exchange->producer ? BATCH_BLOCK_BYTES : STREAM_BLOCK_BYTES, read_stream, exchange, NULL);
	} else if (reply->body.len == 0) {
		response = MHD_create_response_from_buffer(0, (void *)"", MHD_RESPMEM_PERSISTENT);
	} else {
		char *body = buf_take(&reply->body, &len);
		response = MHD_create_response_from_buffer_with_free_callback(len, body, mem_free);
		if (!response)
			mem_free(body);
	}
	if (!response)
		return NULL;
	response_each_header(reply, add_header, response);
	add_leave(exchange, response);
	if (exchange->must_close)
		MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
	return response;
}

static enum MHD_Result send_reply(struct exchange *exchange, bool is_stream)
{
	struct MHD_Response *response = make_response(exchange, is_stream);

	if (!response)
		return MHD_NO;
	enum MHD_Result result = MHD_queue_response(exchange->connection, (unsigned)exchange->reply->status, response);
	MHD_destroy_response(response); /* the connection has its own reference */
	exchange_drop_reply(exchange);
	return result;
}

static enum MHD_Result do_step(struct exchange *exchange, enum step step)
{
	switch (step) {
	case STEP_MORE:
		return MHD_YES;
	case STEP_REPLY:
		return send_reply(exchange, false);
	case STEP_STREAM:
		return send_reply(exchange, true);
	case STEP_CLOSE:
		break;
	}
	return MHD_NO;
}

/* The version lies behind the target in the library's buffer: further off, the target had a NUL, which ended it for us alone. */
static enum MHD_Result begin(struct exchange *exchange, const char *method, const char *version)
{
	struct peer *peer = peer_of(exchange->connection);

	peer_awaits_nothing(peer);
	exchange->has_gap = version != exchange->behind_target;
	if (!copy_headers(exchange, method, version))
		return MHD_NO;
	enum step step = exchange_begin(exchange, span_from(method), span_from(version));
	if (exchange->phase == PHASE_BODY && exchange->route && exchange->route->kind == ROUTE_WORKER)
		peer_awaits_body(peer);
	return do_step(exchange, step);
}

static enum MHD_Result may_come(void *context, const struct sockaddr *address, socklen_t len)
{
	struct http_server *server = context;

	(void)len;
	if (peers_may_come(server->peers, address))
		return MHD_YES;
	atomic_fetch_add(&server->counters.refused_connections, 1);
	return MHD_NO;
}

static enum MHD_Result on_request(void *context, struct MHD_Connection *connection, const char *path,
	const char *method, const char *version, const char *upload, size_t *upload_bytes, void **request)
{
	struct exchange *exchange = *request;

	(void)context;
	(void)connection;
	(void)path;
	if (!exchange)
		return MHD_NO; /* no memory when its target came */
	if (exchange->phase == PHASE_NEW)
		return begin(exchange, method, version);
	if (*upload_bytes == 0)
		peer_awaits_nothing(peer_of(connection));
	if (*upload_bytes == 0)
		return do_step(exchange, exchange_end(exchange));
	struct span piece = span_of(upload, *upload_bytes);
	enum step step = exchange_body(exchange, &piece);
	*upload_bytes = piece.len;
	return do_step(exchange, step);
}

/* The library has put the connection into its session. */
static int on_handshake(gnutls_session_t session, const gnutls_datum_t *authorities, int authority_count,
	const gnutls_pk_algorithm_t *algorithms, int algorithm_count, gnutls_pcert_st **chain, unsigned *count,
	gnutls_privkey_t *key)
{
	struct peer *peer = peer_of(gnutls_session_get_ptr(session));

	(void)authorities;
	(void)authority_count;
	(void)algorithms;
	(void)algorithm_count;
	return peer ? tls_retrieve(peer_tls(peer), chain, count, key) : -1;
}

static struct MHD_Daemon *start(struct http_server *server, const struct mhd_options *options)
{
	unsigned flags = MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME;
	struct MHD_OptionItem items[] = {
		{MHD_OPTION_LISTEN_SOCKET, options->listen_socket, NULL},
		{MHD_OPTION_CONNECTION_MEMORY_LIMIT, CONNECTION_BYTES, NULL},
		{MHD_OPTION_CONNECTION_LIMIT, (intptr_t)options->max_connections, NULL},
		{MHD_OPTION_CONNECTION_TIMEOUT, options->idle_timeout_s, NULL},
		{MHD_OPTION_UNESCAPE_CALLBACK, (intptr_t)keep_escapes, NULL},
		{MHD_OPTION_URI_LOG_CALLBACK, (intptr_t)on_target, server},
		{MHD_OPTION_NOTIFY_COMPLETED, (intptr_t)on_completed, server},
		{MHD_OPTION_NOTIFY_CONNECTION, (intptr_t)on_connection, server},
		{options->io_threads > 1 ? MHD_OPTION_THREAD_POOL_SIZE : MHD_OPTION_END, options->io_threads, NULL},
		{MHD_OPTION_END, 0, NULL},
	};

	if (!options->tls)
		return MHD_start_daemon(
			flags, 0, may_come, server, on_request, NULL, MHD_OPTION_ARRAY, items, MHD_OPTION_END);
	const char *authorities = tls_client_authorities(options->tls);
	return MHD_start_daemon(flags | MHD_USE_TLS, 0, may_come, server, on_request, NULL,
		MHD_OPTION_HTTPS_CERT_CALLBACK, on_handshake, MHD_OPTION_HTTPS_PRIORITIES, tls_priorities,
		MHD_OPTION_ARRAY, items, authorities ? MHD_OPTION_HTTPS_MEM_TRUST : MHD_OPTION_END, authorities,
		MHD_OPTION_END);
}

enum status mhd_start(
	struct mhd **out, struct http_server *server, const struct mhd_options *options, struct error *err)
{
	struct mhd *mhd = mem_zeroed(sizeof *mhd);

	if (!mhd)
		return error_no_memory(err);
	mhd->daemon = start(server, options);
	if (!mhd->daemon) {
		mem_free(mhd);
		return error_set(err, ERR_IO, "cannot start the HTTP server");
	}
	*out = mhd;
	return OK;
}

void mhd_stop(struct mhd *mhd)
{
	MHD_stop_daemon(mhd->daemon);
	mem_free(mhd);
}
