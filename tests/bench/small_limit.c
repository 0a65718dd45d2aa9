/*
 * The limit of small posts: libmicrohttpd, the lines by memchr, six JIT patterns on each, and one zstd frame, SQLite row and
 * durable transaction for all that wait; then their replies. No streams, no numbers, no state, nothing read again.
 *
 *   bench_small_limit suspended|threads [--file DATABASE]
 *
 * suspended: as many I/O threads as processors, a request's connection is suspended until its group is on disk; threads: one
 * for each connection. Its port is the first line that it prints; when its input ends it prints a line of JSON, and ends.
 */
#include "limit_work.h"

#include <arpa/inet.h>
#include <microhttpd.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BODY_BYTES = 64 << 10, GROUP_BYTES = 4 << 20, CONNECTION_BYTES = 16 << 10, CONNECTIONS = 1024 };

struct request {
	struct request *next;
	struct MHD_Connection *connection;
	size_t bytes;
	uint64_t lines;
	bool is_stored;
	sem_t stored; /* with a thread a connection */
	char body[BODY_BYTES];
};

struct server {
	bool has_threads;
	struct limit_work work;
	char *group;
	uint64_t requests, groups;
	pthread_mutex_t mutex;
	pthread_cond_t has_waiting;
	struct request *waiting;
	bool is_over;
};

/* ---- the thread that stores ---- */

static void tell(const struct server *server, struct request *request)
{
	if (server->has_threads) {
		sem_post(&request->stored);
		return;
	}
	request->is_stored = true;
	MHD_resume_connection(request->connection);
}

static void store(struct server *server, struct request *requests)
{
	size_t bytes = 0;

	for (struct request *request = requests; request; request = request->next) {
		uint64_t before = server->work.lines;
		if (bytes + request->bytes > GROUP_BYTES)
			limit_fail("a group", "too long");
		limit_match(&server->work, request->body, request->body + request->bytes);
		request->lines = server->work.lines - before;
		memcpy(server->group + bytes, request->body, request->bytes);
		bytes += request->bytes;
		server->requests++;
	}
	limit_store(&server->work, server->group, bytes);
	server->groups++;
	for (struct request *next; requests; requests = next) {
		next = requests->next;
		tell(server, requests);
	}
}

static void *run(void *context)
{
	struct server *server = context;

	for (;;) {
		pthread_mutex_lock(&server->mutex);
		while (!server->waiting && !server->is_over)
			pthread_cond_wait(&server->has_waiting, &server->mutex);
		struct request *requests = server->waiting;
		server->waiting = NULL;
		pthread_mutex_unlock(&server->mutex);
		if (!requests)
			return NULL;
		store(server, requests);
	}
}

static void hand_over(struct server *server, struct request *request)
{
	if (!server->has_threads)
		MHD_suspend_connection(request->connection);
	pthread_mutex_lock(&server->mutex);
	bool is_first = !server->waiting;
	request->next = server->waiting;
	server->waiting = request;
	pthread_mutex_unlock(&server->mutex);
	if (is_first)
		pthread_cond_signal(&server->has_waiting);
	if (server->has_threads)
		sem_wait(&request->stored);
}

/* ---- requests ---- */

static struct request *new_request(struct MHD_Connection *connection)
{
	struct request *request = malloc(sizeof *request);

	if (!request)
		limit_fail("memory", "a request");
	request->connection = connection;
	request->bytes = 0;
	request->is_stored = false;
	sem_init(&request->stored, 0, 0);
	return request;
}

static enum MHD_Result answer(const struct request *request)
{
	char text[64];
	int len = snprintf(text, sizeof text, "{\"accepted\":%llu}\n", (unsigned long long)request->lines);
	struct MHD_Response *response = MHD_create_response_from_buffer((size_t)len, text, MHD_RESPMEM_MUST_COPY);

	MHD_add_response_header(response, "Content-Type", "application/json");
	enum MHD_Result result = MHD_queue_response(request->connection, MHD_HTTP_OK, response);
	MHD_destroy_response(response);
	return result;
}

static enum MHD_Result on_request(void *context, struct MHD_Connection *connection, const char *url, const char *method,
	const char *version, const char *upload, size_t *upload_bytes, void **kept)
{
	struct request *request = *kept;

	(void)url;
	(void)method;
	(void)version;
	if (!request) {
		*kept = new_request(connection);
		return MHD_YES;
	}
	if (*upload_bytes) {
		if (request->bytes + *upload_bytes > BODY_BYTES)
			return MHD_NO;
		memcpy(request->body + request->bytes, upload, *upload_bytes);
		request->bytes += *upload_bytes;
		*upload_bytes = 0;
		return MHD_YES;
	}
	struct server *server = context;
	if (!request->is_stored) {
		hand_over(server, request);
		if (!server->has_threads)
			return MHD_YES;
	}
	return answer(request);
}

static void on_completed(
	void *context, struct MHD_Connection *connection, void **kept, enum MHD_RequestTerminationCode how)
{
	struct request *request = *kept;

	(void)context;
	(void)connection;
	(void)how;
	if (!request)
		return;
	sem_destroy(&request->stored);
	free(request);
}

static struct MHD_Daemon *start(struct server *server)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	unsigned threads = server->has_threads ? 0 : (unsigned)sysconf(_SC_NPROCESSORS_ONLN);
	unsigned flags = MHD_USE_INTERNAL_POLLING_THREAD;

	flags |= server->has_threads ? MHD_USE_POLL | MHD_USE_THREAD_PER_CONNECTION
				     : MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME;
	return MHD_start_daemon(flags, 0, NULL, NULL, on_request, server, MHD_OPTION_SOCK_ADDR, &address,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_BYTES, MHD_OPTION_CONNECTION_LIMIT,
		(unsigned)CONNECTIONS, MHD_OPTION_NOTIFY_COMPLETED, on_completed, server,
		threads > 1 ? MHD_OPTION_THREAD_POOL_SIZE : MHD_OPTION_END, threads, MHD_OPTION_END);
}

static void end(struct server *server, struct MHD_Daemon *daemon, pthread_t thread)
{
	MHD_stop_daemon(daemon);
	pthread_mutex_lock(&server->mutex);
	server->is_over = true;
	pthread_mutex_unlock(&server->mutex);
	pthread_cond_signal(&server->has_waiting);
	pthread_join(thread, NULL);
}

int main(int argc, char **argv)
{
	struct server server = {.mutex = PTHREAD_MUTEX_INITIALIZER, .has_waiting = PTHREAD_COND_INITIALIZER};
	const char *path = argc == 4 && !strcmp(argv[2], "--file") ? argv[3] : "bench-small-limit.db";
	pthread_t thread;

	if (argc < 2)
		limit_fail("usage", "bench_small_limit suspended|threads [--file DATABASE]");
	server.has_threads = !strcmp(argv[1], "threads");
	server.group = malloc(GROUP_BYTES);
	limit_open(&server.work, path, GROUP_BYTES);
	struct MHD_Daemon *daemon = start(&server);
	if (!server.group || !daemon || pthread_create(&thread, NULL, run, &server))
		limit_fail("cannot start", argv[1]);
	printf("%u\n", MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_BIND_PORT)->port);
	fflush(stdout);
	int64_t before_ns = limit_now_ns(CLOCK_PROCESS_CPUTIME_ID);
	while (getchar() != EOF)
		;
	end(&server, daemon, thread);
	printf("{\"requests\":%llu,\"lines\":%llu,\"groups\":%llu,\"cpu_seconds\":%.4f}\n",
		(unsigned long long)server.requests, (unsigned long long)server.work.lines,
		(unsigned long long)server.groups, (double)(limit_now_ns(CLOCK_PROCESS_CPUTIME_ID) - before_ns) / 1e9);
	limit_close(&server.work);
	free(server.group);
	return 0;
}
