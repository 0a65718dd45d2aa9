#include "cli/http/http_post.h"

#include "base/clock.h"
#include "base/crypto.h"
#include "base/codec/zstd.h"
#include "cli/http/resolve.h"
#include "cli/http/url.h"

#include <ctype.h>
#include <errno.h>
#include <mbedtls/error.h>
#include <mbedtls/ssl.h>
#include <mbedtls/x509_crt.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	WAIT_SLICE_MS = 200,
	READ_BYTES = 16 << 10,
	MAX_HEAD_BYTES = 16 << 10,
	LEAST_PACKED_BYTES = 1 << 10, /* what is shorter goes in one packet anyway */
	JOINED_BYTES = 16 << 10, /* a body up to here goes with its head, by one call */
	MAX_PACKED_BYTES = 64 << 20,
	AWAY_CODE = 503,
	PACK_LEVEL = 1, /* logs become an eighth; a training's processor is not ours to use */
};

struct server {
	struct url url;
	struct span text; /* of the list */
};

struct http_client {
	struct server servers[HTTP_CLIENT_MAX_SERVERS];
	size_t server_count, at; /* which is asked */
	char *list, *token, *agent, *ca_file, *cert_file, *key_file;
	int64_t connect_timeout_ms, request_timeout_ms;
	size_t max_reply_bytes;
	_Atomic int64_t give_up_ms;
	int64_t deadline_ms; /* of the request that runs */
	int fd; /* -1: not connected */
	bool has_connected; /* for the request that runs: it may have been taken */
	struct zstd *zstd;
	struct buf packed; /* the body of the request that runs */
	bool has_tls_config, has_tls_session;
	mbedtls_x509_crt authorities, own;
	mbedtls_pk_context own_key;
	mbedtls_ssl_config tls_config;
	mbedtls_ssl_context tls;
};

enum { IO_ENDED = 0, IO_WANTS_READ = -1, IO_WANTS_WRITE = -2, IO_FAILED = -3 };

static void disconnect(struct http_client *client)
{
	if (client->has_tls_session) {
		mbedtls_ssl_free(&client->tls);
		client->has_tls_session = false;
	}
	if (client->fd >= 0)
		close(client->fd);
	client->fd = -1;
}

static void free_tls_config(struct http_client *client)
{
	mbedtls_ssl_config_free(&client->tls_config);
	mbedtls_x509_crt_free(&client->authorities);
	mbedtls_x509_crt_free(&client->own);
	mbedtls_pk_free(&client->own_key);
}

void http_client_free(struct http_client *client)
{
	if (!client)
		return;
	if (client->has_tls_session)
		mbedtls_ssl_close_notify(&client->tls);
	disconnect(client);
	if (client->has_tls_config) {
		free_tls_config(client);
	}
	mem_free(client->list);
	mem_free(client->token);
	mem_free(client->agent);
	mem_free(client->ca_file);
	mem_free(client->cert_file);
	mem_free(client->key_file);
	zstd_free(client->zstd);
	buf_done(&client->packed);
	mem_free(client);
}

/* A line end or space in the token would end the header. */
static enum status check_token(const char *token, struct error *err)
{
	for (const char *c = token; c && *c; c++)
		if (!isgraph((unsigned char)*c))
			return error_set_field(err, ERR_INVALID, "token-file",
				"the token holds a character that no token holds, at %zu", (size_t)(c - token) + 1);
	return OK;
}

static enum status read_servers(struct http_client *client, struct error *err)
{
	struct span rest = span_from(client->list), text;

	while (url_next(&rest, &text)) {
		if (client->server_count == HTTP_CLIENT_MAX_SERVERS)
			return error_set_field(
				err, ERR_INVALID, "server", "at most %d server addresses", HTTP_CLIENT_MAX_SERVERS);
		struct server *server = &client->servers[client->server_count++];
		server->text = span_trim(text);
		TRY(url_parse(&server->url, text, err));
	}
	return client->server_count ? OK : error_set_field(err, ERR_INVALID, "server", "no server address is stated");
}

static const struct url *url_of(const struct http_client *client)
{
	return &client->servers[client->at].url;
}

struct span http_client_server(const struct http_client *client)
{
	return client->servers[client->at].text;
}

static char *copy_or_null(const char *text, bool *is_out)
{
	char *copy = text ? mem_copy_string(text) : NULL;

	*is_out |= text && !copy;
	return copy;
}

enum status http_client_new(struct http_client **out, const struct http_client_options *options, struct error *err)
{
	AUTO(http_client) client = mem_zeroed(sizeof *client);
	bool is_out = false;

	if (!client)
		return error_no_memory(err);
	client->fd = -1;
	client->list = copy_or_null(options->server, &is_out);
	client->token = copy_or_null(options->token, &is_out);
	client->agent = copy_or_null(options->agent, &is_out);
	client->ca_file = copy_or_null(options->ca_file, &is_out);
	client->cert_file = copy_or_null(options->cert_file, &is_out);
	client->key_file = copy_or_null(options->key_file, &is_out);
	client->zstd = zstd_new();
	client->packed = BUF_INIT(MAX_PACKED_BYTES);
	if (is_out || !client->zstd)
		return error_no_memory(err);
	client->connect_timeout_ms = options->connect_timeout_ms;
	client->request_timeout_ms = options->request_timeout_ms;
	client->max_reply_bytes = options->max_reply_bytes;
	TRY(read_servers(client, err));
	TRY(check_token(client->token, err));
	*out = TAKE(client);
	return OK;
}

void http_client_give_up_at(struct http_client *client, int64_t mono_ms)
{
	atomic_store(&client->give_up_ms, mono_ms);
}

/* Waits until the socket is ready for one of the events; *ready: which. */
static enum status wait_ready(
	struct http_client *client, short events, int64_t deadline_ms, short *ready, struct error *err)
{
	for (;;) {
		int64_t now_ms = clock_mono_ms(), give_up_ms = atomic_load(&client->give_up_ms);
		int64_t rest_ms = deadline_ms - now_ms;
		if (rest_ms <= 0 || (give_up_ms && now_ms >= give_up_ms))
			return error_set(err, ERR_UNAVAILABLE, "%.*s does not answer in time",
				SPAN_ARGS(http_client_server(client)));
		struct pollfd item = {.fd = client->fd, .events = events};
		if (poll(&item, 1, rest_ms < WAIT_SLICE_MS ? (int)rest_ms : WAIT_SLICE_MS) > 0) {
			*ready = item.revents;
			return OK;
		}
	}
}

static enum status connect_address(struct http_client *client, const struct addrinfo *address, struct error *err)
{
	int failure = 0, on = 1;
	socklen_t size = sizeof failure;
	int64_t deadline_ms = clock_mono_ms() + client->connect_timeout_ms;
	short ready;

	client->fd = socket(address->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (client->fd < 0)
		return error_set(err, ERR_UNAVAILABLE, "cannot open a socket: %s", strerror(errno));
	setsockopt(client->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
	if (connect(client->fd, address->ai_addr, address->ai_addrlen) != 0) {
		if (errno != EINPROGRESS)
			return error_set(err, ERR_UNAVAILABLE, "cannot connect to %.*s: %s",
				SPAN_ARGS(http_client_server(client)), strerror(errno));
		if (deadline_ms > client->deadline_ms)
			deadline_ms = client->deadline_ms;
		TRY(wait_ready(client, POLLOUT, deadline_ms, &ready, err));
		getsockopt(client->fd, SOL_SOCKET, SO_ERROR, &failure, &size);
		if (failure)
			return error_set(err, ERR_UNAVAILABLE, "cannot connect to %.*s: %s",
				SPAN_ARGS(http_client_server(client)), strerror(failure));
	}
	return OK;
}

/* mbed TLS wants plain functions over the socket. */
static int tls_write(void *context, const unsigned char *bytes, size_t len)
{
	const struct http_client *client = context;
	ssize_t sent = send(client->fd, bytes, len, MSG_NOSIGNAL);

	if (sent >= 0)
		return (int)sent;
	return errno == EAGAIN || errno == EINTR ? MBEDTLS_ERR_SSL_WANT_WRITE : MBEDTLS_ERR_SSL_INTERNAL_ERROR;
}

static int tls_read(void *context, unsigned char *bytes, size_t len)
{
	const struct http_client *client = context;
	ssize_t got = recv(client->fd, bytes, len, 0);

	if (got >= 0)
		return (int)got;
	return errno == EAGAIN || errno == EINTR ? MBEDTLS_ERR_SSL_WANT_READ : MBEDTLS_ERR_SSL_INTERNAL_ERROR;
}

static int tls_random(void *context, unsigned char *bytes, size_t len)
{
	(void)context;
	crypto_random(bytes, len);
	return 0;
}

static enum status load_authorities(struct http_client *client, struct error *err)
{
	static const char *const usual[] = {"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt",
		"/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem", NULL};
	const char *path = client->ca_file;

	for (size_t i = 0; !path && usual[i]; i++)
		if (access(usual[i], R_OK) == 0)
			path = usual[i];
	if (!path)
		return error_set_field(err, ERR_IO, "ca-file",
			"no certificate authorities found in the usual places; name a file with --ca-file");
	int failure = mbedtls_x509_crt_parse_file(&client->authorities, path);
	if (failure < 0) {
		char reason[128];
		mbedtls_strerror(failure, reason, sizeof reason);
		return error_set_field(
			err, ERR_IO, "ca-file", "cannot read certificate authorities from '%s': %s", path, reason);
	}
	return OK;
}

static enum status cannot_read(const char *field, const char *path, int failure, struct error *err)
{
	char reason[128];

	mbedtls_strerror(failure, reason, sizeof reason);
	return error_set_field(err, ERR_IO, field, "cannot read '%s': %s", path, reason);
}

/* What the server asks of those who write, with --tls-client-ca. */
static enum status load_own(struct http_client *client, struct error *err)
{
	if (!client->cert_file)
		return OK;
	int failure = mbedtls_x509_crt_parse_file(&client->own, client->cert_file);
	if (failure)
		return cannot_read("tls-cert", client->cert_file, failure, err);
	failure = mbedtls_pk_parse_keyfile(&client->own_key, client->key_file, NULL);
	if (failure)
		return cannot_read("tls-key", client->key_file, failure, err);
	if (mbedtls_ssl_conf_own_cert(&client->tls_config, &client->own, &client->own_key) != 0)
		return error_no_memory(err);
	return OK;
}

static enum status configure_tls(struct http_client *client, struct error *err)
{
	if (client->has_tls_config)
		return OK;
	mbedtls_x509_crt_init(&client->authorities);
	mbedtls_x509_crt_init(&client->own);
	mbedtls_pk_init(&client->own_key);
	mbedtls_ssl_config_init(&client->tls_config);
	client->has_tls_config = true;
	enum status status = load_authorities(client, err);
	if (status == OK && mbedtls_ssl_config_defaults(&client->tls_config, MBEDTLS_SSL_IS_CLIENT,
				    MBEDTLS_SSL_TRANSPORT_STREAM, MBEDTLS_SSL_PRESET_DEFAULT) != 0)
		status = error_no_memory(err);
	if (status == OK)
		status = load_own(client, err);
	if (status != OK) {
		free_tls_config(client);
		client->has_tls_config = false;
		return status;
	}
	mbedtls_ssl_conf_min_version(&client->tls_config, MBEDTLS_SSL_MAJOR_VERSION_3, MBEDTLS_SSL_MINOR_VERSION_3);
	mbedtls_ssl_conf_authmode(&client->tls_config, MBEDTLS_SSL_VERIFY_REQUIRED);
	mbedtls_ssl_conf_ca_chain(&client->tls_config, &client->authorities, NULL);
	mbedtls_ssl_conf_rng(&client->tls_config, tls_random, NULL);
	return OK;
}

static enum status tls_failure(struct http_client *client, int code, struct error *err)
{
	char reason[256];
	uint32_t flags = mbedtls_ssl_get_verify_result(&client->tls);

	if (code == MBEDTLS_ERR_X509_CERT_VERIFY_FAILED && flags != UINT32_MAX) {
		int len = mbedtls_x509_crt_verify_info(reason, sizeof reason, "", flags);
		for (int i = 0; i < len; i++)
			if (reason[i] == '\n')
				reason[i] = i + 1 < len ? ';' : 0;
	} else {
		mbedtls_strerror(code, reason, sizeof reason);
	}
	return error_set(err, ERR_UNAVAILABLE, "no secure connection to %.*s: %s",
		SPAN_ARGS(http_client_server(client)), reason);
}

static enum status start_tls(struct http_client *client, struct error *err)
{
	int code;
	short ready;

	TRY(configure_tls(client, err));
	mbedtls_ssl_init(&client->tls);
	client->has_tls_session = true;
	code = mbedtls_ssl_setup(&client->tls, &client->tls_config);
	if (code == 0)
		code = mbedtls_ssl_set_hostname(&client->tls, url_of(client)->host);
	if (code != 0)
		return tls_failure(client, code, err);
	mbedtls_ssl_set_bio(&client->tls, client, tls_write, tls_read, NULL);
	while ((code = mbedtls_ssl_handshake(&client->tls)) != 0) {
		if (code != MBEDTLS_ERR_SSL_WANT_READ && code != MBEDTLS_ERR_SSL_WANT_WRITE)
			return tls_failure(client, code, err);
		TRY(wait_ready(client, code == MBEDTLS_ERR_SSL_WANT_READ ? POLLIN : POLLOUT, client->deadline_ms,
			&ready, err));
	}
	return OK;
}

static enum status connect_server(struct http_client *client, struct error *err)
{
	struct addrinfo *addresses;
	enum status status = ERR_UNAVAILABLE;

	const struct url *url = url_of(client);

	TRY(resolve_host(&addresses, url->host, url->port, client->deadline_ms, &client->give_up_ms, err));
	for (const struct addrinfo *address = addresses; address && status != OK; address = address->ai_next) {
		status = connect_address(client, address, err);
		if (status == OK && url->is_tls)
			status = start_tls(client, err);
		if (status != OK)
			disconnect(client);
	}
	freeaddrinfo(addresses);
	return status;
}

static ssize_t write_some(struct http_client *client, struct span bytes)
{
	if (client->has_tls_session) {
		int code = mbedtls_ssl_write(&client->tls, (const unsigned char *)bytes.ptr, bytes.len);
		if (code == MBEDTLS_ERR_SSL_WANT_READ)
			return IO_WANTS_READ;
		return code == MBEDTLS_ERR_SSL_WANT_WRITE ? IO_WANTS_WRITE : code < 0 ? IO_FAILED : code;
	}
	ssize_t sent = send(client->fd, bytes.ptr, bytes.len, MSG_NOSIGNAL);
	if (sent < 0)
		return errno == EAGAIN || errno == EINTR ? IO_WANTS_WRITE : IO_FAILED;
	return sent;
}

static ssize_t read_some(struct http_client *client, char *bytes, size_t room)
{
	if (client->has_tls_session) {
		int code = mbedtls_ssl_read(&client->tls, (unsigned char *)bytes, room);
		if (code == MBEDTLS_ERR_SSL_WANT_READ)
			return IO_WANTS_READ;
		if (code == MBEDTLS_ERR_SSL_PEER_CLOSE_NOTIFY)
			return IO_ENDED;
		return code == MBEDTLS_ERR_SSL_WANT_WRITE ? IO_WANTS_WRITE : code < 0 ? IO_FAILED : code;
	}
	ssize_t got = recv(client->fd, bytes, room, 0);
	if (got < 0)
		return errno == EAGAIN || errno == EINTR ? IO_WANTS_READ : IO_FAILED;
	return got;
}

/* *is_cut: the server answers, or hung up, before it had everything; its reply may still be read. */
static enum status write_all(struct http_client *client, struct span bytes, bool *is_cut, struct error *err)
{
	while (bytes.len && !*is_cut) {
		ssize_t sent = write_some(client, bytes);
		short ready;
		if (sent >= 0) {
			bytes = span_skip(bytes, (size_t)sent);
			continue;
		}
		if (sent == IO_FAILED) {
			*is_cut = true;
			return OK;
		}
		TRY(wait_ready(
			client, POLLIN | (sent == IO_WANTS_WRITE ? POLLOUT : 0), client->deadline_ms, &ready, err));
		*is_cut = sent == IO_WANTS_WRITE && !(ready & POLLOUT);
	}
	return OK;
}

static enum status read_reply(struct http_client *client, struct http_reply *reply, struct error *err)
{
	char bytes[READ_BYTES];
	short ready;

	while (!http_reply_is_complete(reply)) {
		ssize_t got = read_some(client, bytes, sizeof bytes);
		if (got > 0) {
			TRY(http_reply_feed(reply, span_of(bytes, (size_t)got), err));
		} else if (got == IO_WANTS_READ || got == IO_WANTS_WRITE) {
			TRY(wait_ready(
				client, got == IO_WANTS_READ ? POLLIN : POLLOUT, client->deadline_ms, &ready, err));
		} else if (got == IO_ENDED && reply->has_bytes) {
			return http_reply_end(reply, err);
		} else {
			return error_set(err, ERR_UNAVAILABLE, "%.*s ended the connection without a reply",
				SPAN_ARGS(http_client_server(client)));
		}
	}
	return OK;
}

/* What goes over the line as the body: packed where it is another. */
static struct span pack_body(struct http_client *client, struct span body)
{
	if (body.len < LEAST_PACKED_BYTES)
		return body;
	buf_reset(&client->packed);
	bool is_packed = zstd_pack(client->zstd, body, PACK_LEVEL, &client->packed, NULL) == OK;
	return is_packed ? buf_span(&client->packed) : body;
}

static enum status put_head(const struct http_client *client, const struct http_request *request, size_t body_bytes,
	bool is_packed, struct buf *head, struct error *err)
{
	const struct url *url = url_of(client);

	buf_printf(head, "%s %s%.*s HTTP/1.1\r\nHost: ", request->method, url->prefix, SPAN_ARGS(request->path));
	url_put_host(url, head);
	buf_printf(head, "\r\nUser-Agent: %s\r\nAccept: %s\r\n", client->agent,
		request->accept ? request->accept : "application/json");
	if (client->token)
		buf_printf(head, "Authorization: Bearer %s\r\n", client->token);
	if (request->content_type)
		buf_printf(head, "Content-Type: %s\r\n", request->content_type);
	if (request->content_type || strcmp(request->method, "GET") != 0)
		buf_printf(head, "Content-Length: %zu\r\n", body_bytes);
	if (is_packed)
		buf_append_text(head, "Content-Encoding: zstd\r\n");
	if (request->headers)
		buf_append_text(head, request->headers);
	buf_append_text(head, "\r\n");
	return buf_status(head, err);
}

static enum status send_once(
	struct http_client *client, struct span head, struct span body, struct http_reply *reply, struct error *err)
{
	bool is_cut = false;

	if (client->fd < 0)
		TRY(connect_server(client, err));
	client->has_connected = true;
	enum status status = write_all(client, head, &is_cut, err);
	if (status == OK)
		status = write_all(client, body, &is_cut, err);
	if (status == OK)
		status = read_reply(client, reply, err);
	if (status != OK || is_cut || reply->closes)
		disconnect(client);
	return status;
}

/* Nothing is under way on a kept connection: whatever can be read of it is its end. */
static bool has_ended(const struct http_client *client)
{
	char byte;

	return recv(client->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) >= 0 || (errno != EAGAIN && errno != EWOULDBLOCK);
}

/* body: as it goes over the line. */
static enum status send_to_one(struct http_client *client, const struct http_request *request, struct span body,
	struct http_reply *reply, struct error *err)
{
	AUTO_DONE(buf) head = BUF_INIT(MAX_HEAD_BYTES);
	bool is_packed = body.ptr != request->body.ptr;

	if (request->is_once && client->fd >= 0 && has_ended(client))
		disconnect(client);
	bool may_repeat = client->fd >= 0 && !request->is_once;
	http_reply_init(reply, client->max_reply_bytes);
	client->deadline_ms = clock_mono_ms() + client->request_timeout_ms;
	client->has_connected = false;
	TRY(put_head(client, request, body.len, is_packed, &head, err));
	if (body.len <= JOINED_BYTES) {
		head.max_bytes += JOINED_BYTES;
		buf_append_span(&head, body);
		TRY(buf_status(&head, err));
		body = SPAN("");
	}
	enum status status = send_once(client, buf_span(&head), body, reply, err);
	/* A kept connection may have been closed by the server just then: that says nothing about the server. */
	if (status == ERR_UNAVAILABLE && may_repeat && !reply->has_bytes && clock_mono_ms() < client->deadline_ms) {
		http_reply_done(reply);
		http_reply_init(reply, client->max_reply_bytes);
		status = send_once(client, buf_span(&head), body, reply, err);
	}
	return status;
}

static bool is_over(const struct http_client *client)
{
	int64_t give_up_ms = atomic_load(&client->give_up_ms);

	return give_up_ms && clock_mono_ms() >= give_up_ms;
}

enum status http_client_send(
	struct http_client *client, const struct http_request *request, struct http_reply *reply, struct error *err)
{
	struct span body = pack_body(client, request->body);

	for (size_t left = client->server_count;; left--) {
		enum status status = send_to_one(client, request, body, reply, err);
		bool is_away = status == ERR_UNAVAILABLE || (status == OK && reply->status_code == AWAY_CODE);
		if (!is_away || client->server_count == 1)
			return status;
		disconnect(client);
		client->at = (client->at + 1) % client->server_count;
		if (left == 1 || is_over(client) || (request->is_once && client->has_connected))
			return status;
		http_reply_done(reply);
	}
}
