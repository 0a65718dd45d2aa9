/* A client of raw sockets: the tests decide about every byte. All reads end by a timeout; nothing sleeps. */
#pragma once

#include "base/buf.h"
#include "test.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

enum { CLIENT_TIMEOUT_S = 20, CLIENT_REPLY_BYTES = 4 << 20 };

struct client {
	int fd;
	struct buf received; /* not yet consumed */
};

struct reply {
	int status;
	struct buf head;
	struct buf body;
};

static inline void client_done(struct client *client)
{
	if (client->fd >= 0)
		close(client->fd);
	client->fd = -1;
	buf_done(&client->received);
}
AUTO_DONE_TYPE(client)

static inline void reply_done(struct reply *reply)
{
	buf_done(&reply->head);
	buf_done(&reply->body);
}
AUTO_DONE_TYPE(reply)

static inline struct client client_open(unsigned port)
{
	struct client client = {.fd = socket(AF_INET, SOCK_STREAM, 0), .received = BUF_INIT(CLIENT_REPLY_BYTES)};
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
	struct timeval timeout = {.tv_sec = CLIENT_TIMEOUT_S};

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	setsockopt(client.fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
	setsockopt(client.fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout);
	CHECK(connect(client.fd, (struct sockaddr *)&address, sizeof address) == 0);
	return client;
}

/* False: the server has closed. */
static inline bool client_send_bytes(struct client *client, const char *bytes, size_t len)
{
	while (len) {
		ssize_t sent = send(client->fd, bytes, len, MSG_NOSIGNAL);
		if (sent <= 0)
			return false;
		bytes += sent;
		len -= (size_t)sent;
	}
	return true;
}

static inline void client_send(struct client *client, const char *text)
{
	CHECK(client_send_bytes(client, text, strlen(text)));
}

/* False: closed or timed out. */
static inline bool client_receive(struct client *client)
{
	char *room = buf_reserve(&client->received, 4096);
	CHECK(room != NULL);
	ssize_t got = recv(client->fd, room, 4096, 0);

	if (got > 0)
		buf_advance(&client->received, (size_t)got);
	return got > 0;
}

static inline void client_consume(struct client *client, size_t bytes)
{
	memmove(client->received.ptr, client->received.ptr + bytes, client->received.len - bytes);
	client->received.len -= bytes;
}

/* Waits until text was received; consumes up to its end. */
static inline bool client_wait_for(struct client *client, const char *text)
{
	ptrdiff_t at;

	while ((at = span_find(buf_span(&client->received), span_from(text))) < 0)
		if (!client_receive(client))
			return false;
	client_consume(client, (size_t)at + strlen(text));
	return true;
}

static inline bool client_is_closed(struct client *client)
{
	while (client_receive(client))
		;
	char byte;
	return recv(client->fd, &byte, 1, 0) <= 0;
}

static inline struct span reply_header(const struct reply *reply, const char *name)
{
	struct span rest = buf_span(&reply->head), line;

	while (span_next(&rest, '\n', &line)) {
		ptrdiff_t colon = span_find_char(line, ':');
		if (colon > 0 && span_equal_fold(span_of(line.ptr, (size_t)colon), span_from(name)))
			return span_trim(span_skip(line, (size_t)colon + 1));
	}
	return SPAN("");
}

static inline bool client_take_head(struct client *client, struct reply *reply)
{
	ptrdiff_t end;

	while ((end = span_find(buf_span(&client->received), SPAN("\r\n\r\n"))) < 0)
		if (!client_receive(client))
			return false;
	buf_append(&reply->head, client->received.ptr, (size_t)end + 2);
	client_consume(client, (size_t)end + 4);
	int64_t status = 0;
	CHECK(reply->head.len > 12 && span_parse_i64(span_of(reply->head.ptr + 9, 3), &status));
	reply->status = (int)status;
	return true;
}

/* Status 0: none came. */
static inline struct reply client_read_reply(struct client *client, bool without_body)
{
	struct reply reply = {.head = BUF_INIT(1 << 16), .body = BUF_INIT(CLIENT_REPLY_BYTES)};
	uint64_t len = 0;

	if (!client_take_head(client, &reply))
		return reply;
	if (!without_body && reply.status != 204 && reply.status != 304)
		CHECK(span_parse_u64(reply_header(&reply, "Content-Length"), &len));
	while (client->received.len < len)
		if (!client_receive(client))
			break;
	CHECK(client->received.len >= len);
	buf_append(&reply.body, client->received.ptr, len);
	client_consume(client, len);
	return reply;
}

static inline struct reply client_ask(struct client *client, const char *request)
{
	client_send(client, request);
	return client_read_reply(client, strncmp(request, "HEAD", 4) == 0);
}
