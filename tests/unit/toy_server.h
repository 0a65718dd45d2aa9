/*
 * Job: an HTTP server for tests: a socket on 127.0.0.1 and a thread that answers each connection's requests by a script.
 * Ownership: start/stop in place. Threads: its own; the test reads `requests` after toy_server_wait.
 */
#pragma once

#include "test.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { TOY_REQUESTS = 16, TOY_REQUEST_BYTES = 16384 };

struct toy_server {
	int listener;
	int port;
	pthread_t thread;
	pthread_mutex_t mutex;
	pthread_cond_t arrived;
	const char *const *answers; /* one a request; the last one again and again; NULL: never answers */
	size_t answer_count;
	size_t count;
	char requests[TOY_REQUESTS][TOY_REQUEST_BYTES];
};

/* The head and as many bytes as Content-Length says. */
static inline bool toy_read(int connection, char *text)
{
	size_t len = 0;

	for (;;) {
		ssize_t got = recv(connection, text + len, TOY_REQUEST_BYTES - 1 - len, 0);
		if (got <= 0)
			return false;
		len += (size_t)got;
		text[len] = 0;
		const char *head_end = strstr(text, "\r\n\r\n");
		const char *length = strcasestr(text, "content-length:");
		if (head_end && (!length || len >= (size_t)(head_end + 4 - text) + strtoul(length + 15, NULL, 10)))
			return true;
	}
}

static inline void toy_serve(struct toy_server *server, int connection)
{
	char text[TOY_REQUEST_BYTES];

	if (!toy_read(connection, text))
		return;
	pthread_mutex_lock(&server->mutex);
	size_t nth = server->count < server->answer_count ? server->count : server->answer_count - 1;
	memcpy(server->requests[server->count % TOY_REQUESTS], text, sizeof text);
	server->count++;
	pthread_cond_broadcast(&server->arrived);
	pthread_mutex_unlock(&server->mutex);
	const char *answer = server->answers[nth];
	if (answer)
		send(connection, answer, strlen(answer), MSG_NOSIGNAL);
	else
		(void)!recv(connection, text, 1, 0); /* until the client gives up */
}

static inline void *toy_run(void *context)
{
	struct toy_server *server = context;
	int connection;

	while ((connection = accept4(server->listener, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
		toy_serve(server, connection);
		close(connection);
	}
	return NULL;
}

static inline void toy_server_start(struct toy_server *server, const char *const *answers, size_t answer_count)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof address;

	*server = (struct toy_server){.answers = answers, .answer_count = answer_count};
	server->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	CHECK(bind(server->listener, (struct sockaddr *)&address, len) == 0);
	CHECK(listen(server->listener, 8) == 0);
	CHECK(getsockname(server->listener, (struct sockaddr *)&address, &len) == 0);
	server->port = ntohs(address.sin_port);
	pthread_mutex_init(&server->mutex, NULL);
	pthread_cond_init(&server->arrived, NULL);
	CHECK(pthread_create(&server->thread, NULL, toy_run, server) == 0);
}

/* Until so many requests have come, at most ten seconds. */
static inline void toy_server_wait(struct toy_server *server, size_t count)
{
	struct timespec deadline;
	int failed = 0;

	clock_gettime(CLOCK_REALTIME, &deadline);
	deadline.tv_sec += 10;
	pthread_mutex_lock(&server->mutex);
	while (server->count < count && !failed)
		failed = pthread_cond_timedwait(&server->arrived, &server->mutex, &deadline);
	pthread_mutex_unlock(&server->mutex);
	CHECK(!failed);
}

static inline void toy_server_stop(struct toy_server *server)
{
	shutdown(server->listener, SHUT_RDWR);
	pthread_join(server->thread, NULL);
	close(server->listener);
	pthread_cond_destroy(&server->arrived);
	pthread_mutex_destroy(&server->mutex);
}
