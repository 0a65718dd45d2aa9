/*
 * The load client: many connections, one thread, as little work of its own as can be: it shares the processors with the
 * server that it measures. Each line goes out once.
 *
 *   bench_load bulk  --port N --job NAME [--connections 4] [--seconds 10] [--bytes 0] [--text-mib 64] [--chunked]
 *   bench_load small --port N --job NAME [--connections 32] [--seconds 10] [--bytes 0] [--text-mib 2] [--lines 20]
 *                    [--jobs 4] [--streams 32]
 *
 * bulk: each body is a whole text and a stream of its own; connection i writes to the job NAME-i.
 * small: each request is a few lines; a connection goes round its share of the streams, stream i is of the job
 *        NAME-(i modulo --jobs).
 * A 429 is waited out as Retry-After says and sent again. A connection that breaks stays closed. One line of JSON.
 */
#include "corpus.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { WINDOW_BYTES = 256 << 10, REPLY_BYTES = 8192, HEAD_BYTES = 512, PARTS = 4, EVENTS = 64 };

enum phase { SENDING, WAITING, PAUSED, ENDED };

struct connection {
	struct load *load;
	unsigned number;
	int fd; /* -1: none */
	enum phase phase;
	bool wants_writable;
	struct corpus corpus;
	unsigned body_number;
	size_t body_start, body_end; /* of the text */
	size_t sent; /* up to where the text was put into parts */
	char head[HEAD_BYTES], chunk_head[32];
	struct iovec parts[PARTS]; /* what is to be written next */
	size_t part_count;
	char reply[REPLY_BYTES];
	size_t reply_len;
	int64_t start_ns, resume_ns;
};

struct load {
	bool is_bulk, is_chunked;
	unsigned port, connection_count, job_count, stream_count, batch_lines;
	const char *job;
	double seconds;
	uint64_t max_bytes;
	size_t text_bytes;
	int epoll;
	struct connection *connections;
	int64_t deadline_ns, last_reply_ns;
	uint64_t begun_bytes, bytes, lines, requests, refused, failed, broken;
	uint32_t *latencies_us;
	size_t latency_cap;
};

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

/* ---- connections ---- */

static void watch(struct connection *connection, int verb, bool wants_writable)
{
	struct epoll_event event = {.events = EPOLLIN | (wants_writable ? EPOLLOUT : 0), .data.ptr = connection};

	if (epoll_ctl(connection->load->epoll, verb, connection->fd, &event) != 0)
		fail("epoll_ctl");
	connection->wants_writable = wants_writable;
}

static bool open_socket(struct connection *connection)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
		.sin_port = htons((uint16_t)connection->load->port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int yes = 1;

	if (connection->fd >= 0)
		return true;
	connection->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (connection->fd < 0)
		fail("socket");
	if (connect(connection->fd, (struct sockaddr *)&address, sizeof address) != 0)
		return false;
	fcntl(connection->fd, F_SETFL, O_NONBLOCK);
	setsockopt(connection->fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
	watch(connection, EPOLL_CTL_ADD, false);
	return true;
}

static void close_socket(struct connection *connection)
{
	if (connection->fd >= 0)
		close(connection->fd);
	connection->fd = -1;
}

static void end(struct connection *connection, bool is_broken)
{
	close_socket(connection);
	connection->phase = ENDED;
	connection->load->broken += is_broken;
}

/* ---- bodies ---- */

/* Where the next body ends; the text starts over, with later steps, when it was all sent. */
static void choose_body(struct connection *connection)
{
	struct corpus *corpus = &connection->corpus;
	const struct load *load = connection->load;

	if (connection->body_end == corpus->bytes) {
		corpus_rewind(corpus);
		connection->body_end = 0;
	}
	connection->body_start = connection->body_end;
	connection->body_end = corpus->bytes;
	const char *at = corpus->text + connection->body_start, *newline;
	for (unsigned i = 0; !load->is_bulk && i < load->batch_lines && at < corpus->text + corpus->bytes; i++) {
		newline = memchr(at, '\n', (size_t)(corpus->text + corpus->bytes - at));
		at = newline + 1;
		connection->body_end = (size_t)(at - corpus->text);
	}
	connection->body_number++;
}

static void add_part(struct connection *connection, const void *bytes, size_t len)
{
	connection->parts[connection->part_count++] = (struct iovec){(void *)(uintptr_t)bytes, len};
}

/* The next piece of the body. */
static void add_window(struct connection *connection)
{
	size_t left = connection->body_end - connection->sent;
	size_t bytes = left < WINDOW_BYTES ? left : WINDOW_BYTES;
	bool is_chunked = connection->load->is_chunked;

	if (is_chunked)
		add_part(connection, connection->chunk_head,
			(size_t)snprintf(connection->chunk_head, sizeof connection->chunk_head, "%zx\r\n", bytes));
	corpus_stamp(&connection->corpus, connection->sent + bytes);
	add_part(connection, connection->corpus.text + connection->sent, bytes);
	connection->sent += bytes;
	if (is_chunked)
		add_part(connection, "\r\n0\r\n\r\n", connection->sent == connection->body_end ? 7 : 2);
}

static void write_head(struct connection *connection)
{
	const struct load *load = connection->load;
	unsigned share = load->stream_count / load->connection_count;
	unsigned stream = connection->number;
	char length[64] = "Transfer-Encoding: chunked";

	if (!load->is_bulk && share > 1)
		stream += connection->body_number % share * load->connection_count;
	if (!load->is_chunked)
		snprintf(length, sizeof length, "Content-Length: %zu", connection->body_end - connection->body_start);
	size_t len = (size_t)snprintf(connection->head, sizeof connection->head,
		"POST /api/v1/logs?job=%s-%u&stream=algo-%u HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: text/plain\r\n%s\r\n\r\n",
		load->job, load->is_bulk ? stream : stream % load->job_count,
		load->is_bulk ? connection->body_number : stream + 1, length);
	add_part(connection, connection->head, len);
}

/* Leaves out what was written. False: all is written. */
static bool skip_written(struct connection *connection, size_t bytes)
{
	size_t done = 0;

	while (done < connection->part_count && bytes >= connection->parts[done].iov_len)
		bytes -= connection->parts[done++].iov_len;
	connection->part_count -= done;
	memmove(connection->parts, connection->parts + done, connection->part_count * sizeof *connection->parts);
	if (!connection->part_count)
		return false;
	connection->parts[0].iov_base = (char *)connection->parts[0].iov_base + bytes;
	connection->parts[0].iov_len -= bytes;
	return true;
}

static void send_on(struct connection *connection)
{
	while (connection->phase == SENDING) {
		ssize_t written = writev(connection->fd, connection->parts, (int)connection->part_count);
		if (written < 0 && errno == EAGAIN) {
			if (!connection->wants_writable)
				watch(connection, EPOLL_CTL_MOD, true);
			return;
		}
		if (written < 0) {
			end(connection, true);
			return;
		}
		if (skip_written(connection, (size_t)written))
			continue;
		if (connection->sent < connection->body_end)
			add_window(connection);
		else
			connection->phase = WAITING;
	}
	if (connection->wants_writable)
		watch(connection, EPOLL_CTL_MOD, false);
}

/* The body that was chosen, from its start. */
static void send_body(struct connection *connection)
{
	if (!open_socket(connection)) {
		end(connection, true);
		return;
	}
	connection->phase = SENDING;
	connection->part_count = connection->reply_len = 0;
	connection->sent = connection->body_start;
	write_head(connection);
	add_window(connection);
	connection->start_ns = now_ns();
	send_on(connection);
}

static void send_next(struct connection *connection)
{
	struct load *load = connection->load;

	if (now_ns() >= load->deadline_ns || (load->max_bytes && load->begun_bytes >= load->max_bytes)) {
		end(connection, false);
		return;
	}
	choose_body(connection);
	load->begun_bytes += connection->body_end - connection->body_start;
	send_body(connection);
}

/* ---- replies ---- */

static void count_latency(struct load *load, int64_t ns)
{
	if (load->requests == load->latency_cap) {
		load->latency_cap = load->latency_cap ? load->latency_cap * 2 : 1 << 16;
		load->latencies_us = realloc(load->latencies_us, load->latency_cap * sizeof *load->latencies_us);
		if (!load->latencies_us)
			fail("latencies");
	}
	load->latencies_us[load->requests++] = (uint32_t)(ns / 1000);
}

static int64_t number_after(const char *text, const char *name, int64_t otherwise)
{
	const char *at = strcasestr(text, name);

	return at ? strtoll(at + strlen(name), NULL, 10) : otherwise;
}

static void take_reply(struct connection *connection, int status, const char *head, const char *body)
{
	struct load *load = connection->load;
	bool was_sending = connection->phase == SENDING;
	int64_t now = now_ns();

	if (was_sending || strcasestr(head, "\r\nConnection: close"))
		close_socket(connection);
	if (status == 200) {
		count_latency(load, now - connection->start_ns);
		load->bytes += connection->body_end - connection->body_start;
		load->lines += (uint64_t)number_after(body, "\"accepted\":", 0);
		load->last_reply_ns = now;
		send_next(connection);
	} else if (status == 429) {
		load->refused++;
		connection->phase = PAUSED;
		connection->resume_ns = now + number_after(head, "\r\nRetry-After: ", 1) * 1000000000;
		if (connection->resume_ns >= load->deadline_ns)
			end(connection, false);
	} else {
		if (!load->failed++)
			fprintf(stderr, "bench_load: the first failed reply: %s %s\n", head, body);
		end(connection, false);
	}
}

/* The whole reply is in, or nothing happens yet. */
static void parse_reply(struct connection *connection)
{
	char *text = connection->reply, *body;
	int status;

	text[connection->reply_len] = 0;
	body = strstr(text, "\r\n\r\n");
	if (!body || sscanf(text, "HTTP/1.1 %d", &status) != 1)
		return;
	size_t length = (size_t)number_after(text, "\r\nContent-Length: ", 0);
	if (connection->reply_len < (size_t)(body + 4 - text) + length)
		return;
	*body = 0;
	connection->reply_len = 0;
	take_reply(connection, status, text, body + 4);
}

static void receive(struct connection *connection)
{
	size_t room = sizeof connection->reply - 1 - connection->reply_len;
	ssize_t bytes = recv(connection->fd, connection->reply + connection->reply_len, room, 0);

	if (bytes < 0 && errno == EAGAIN)
		return;
	if (bytes <= 0) {
		if (connection->phase == PAUSED)
			close_socket(connection);
		else
			end(connection, true);
		return;
	}
	connection->reply_len += (size_t)bytes;
	parse_reply(connection);
}

/* ---- the loop ---- */

/* Sends again what was refused when its time has come; milliseconds until the next such time, -1: none waits. */
static int resume(struct load *load, bool *is_over)
{
	int64_t next_ns = INT64_MAX, now = now_ns();

	*is_over = true;
	for (unsigned i = 0; i < load->connection_count; i++) {
		struct connection *connection = &load->connections[i];
		if (connection->phase == PAUSED && connection->resume_ns <= now)
			send_body(connection);
		if (connection->phase == PAUSED && connection->resume_ns < next_ns)
			next_ns = connection->resume_ns;
		*is_over &= connection->phase == ENDED;
	}
	return next_ns == INT64_MAX ? -1 : (int)((next_ns - now) / 1000000 + 1);
}

static void run(struct load *load)
{
	struct epoll_event events[EVENTS];
	bool is_over;

	for (unsigned i = 0; i < load->connection_count; i++)
		send_next(&load->connections[i]);
	for (;;) {
		int wait_ms = resume(load, &is_over);
		if (is_over)
			return;
		int count = epoll_wait(load->epoll, events, EVENTS, wait_ms);
		for (int i = 0; i < count; i++) {
			struct connection *connection = events[i].data.ptr;
			if (connection->fd >= 0 && events[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR))
				receive(connection);
			if (connection->fd >= 0 && connection->phase == SENDING && events[i].events & EPOLLOUT)
				send_on(connection);
		}
	}
}

/* ---- the program ---- */

static int compare(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static double percentile_ms(const struct load *load, double share)
{
	size_t at = (size_t)(share * (double)load->requests);

	if (!load->requests)
		return 0;
	return load->latencies_us[at < load->requests ? at : load->requests - 1] / 1000.0;
}

static double cpu_seconds(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
	       (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

static void print(const struct load *load, double seconds, double cpu)
{
	if (load->requests)
		qsort(load->latencies_us, load->requests, sizeof *load->latencies_us, compare);
	printf("{\"bytes\":%llu,\"lines\":%llu,\"requests\":%llu,\"refused\":%llu,\"failed\":%llu,\"broken\":%llu,"
	       "\"seconds\":%.4f,\"cpu_seconds\":%.4f,\"bytes_per_s\":%.0f,\"lines_per_s\":%.0f,\"requests_per_s\":%.0f,"
	       "\"p50_ms\":%.3f,\"p99_ms\":%.3f,\"p999_ms\":%.3f,\"max_ms\":%.3f}\n",
		(unsigned long long)load->bytes, (unsigned long long)load->lines, (unsigned long long)load->requests,
		(unsigned long long)load->refused, (unsigned long long)load->failed, (unsigned long long)load->broken,
		seconds, cpu, (double)load->bytes / seconds, (double)load->lines / seconds,
		(double)load->requests / seconds, percentile_ms(load, 0.5), percentile_ms(load, 0.99),
		percentile_ms(load, 0.999), percentile_ms(load, 1));
}

static unsigned number(const char *text)
{
	return (unsigned)strtoul(text, NULL, 10);
}

static void read_options(struct load *load, int argc, char **argv)
{
	static const struct option options[] = {{"port", required_argument, NULL, 'p'},
		{"job", required_argument, NULL, 'j'}, {"jobs", required_argument, NULL, 'J'},
		{"streams", required_argument, NULL, 'S'}, {"connections", required_argument, NULL, 'c'},
		{"seconds", required_argument, NULL, 's'}, {"bytes", required_argument, NULL, 'b'},
		{"text-mib", required_argument, NULL, 't'}, {"lines", required_argument, NULL, 'l'},
		{"chunked", no_argument, NULL, 'k'}, {0}};
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) >= 0)
		switch (option) {
		case 'p':
			load->port = number(optarg);
			break;
		case 'j':
			load->job = optarg;
			break;
		case 'J':
			load->job_count = number(optarg);
			break;
		case 'S':
			load->stream_count = number(optarg);
			break;
		case 'c':
			load->connection_count = number(optarg);
			break;
		case 's':
			load->seconds = strtod(optarg, NULL);
			break;
		case 'b':
			load->max_bytes = strtoull(optarg, NULL, 10);
			break;
		case 't':
			load->text_bytes = (size_t)number(optarg) << 20;
			break;
		case 'l':
			load->batch_lines = number(optarg);
			break;
		case 'k':
			load->is_chunked = true;
			break;
		default:
			exit(2);
		}
}

int main(int argc, char **argv)
{
	bool is_bulk = argc > 1 && strcmp(argv[1], "bulk") == 0;
	struct load load = {.is_bulk = is_bulk,
		.connection_count = is_bulk ? 4 : 32,
		.job_count = 4,
		.batch_lines = 20,
		.seconds = 10,
		.text_bytes = (size_t)(is_bulk ? 64 : 2) << 20};

	if (argc < 2 || (!is_bulk && strcmp(argv[1], "small") != 0)) {
		fprintf(stderr, "bench_load bulk|small --port N --job NAME …\n");
		return 2;
	}
	read_options(&load, argc - 1, argv + 1);
	if (!load.port || !load.job || !load.job_count || !load.connection_count || !load.batch_lines)
		return 2;
	signal(SIGPIPE, SIG_IGN);
	load.epoll = epoll_create1(EPOLL_CLOEXEC);
	load.connections = calloc(load.connection_count, sizeof *load.connections);
	for (unsigned i = 0; i < load.connection_count; i++) {
		struct connection *connection = &load.connections[i];
		*connection = (struct connection){.load = &load, .number = i, .fd = -1};
		corpus_init(&connection->corpus, load.text_bytes, i);
	}
	double cpu = cpu_seconds();
	int64_t start_ns = load.last_reply_ns = now_ns();
	load.deadline_ns = start_ns + (int64_t)(load.seconds * 1e9);
	run(&load);
	print(&load, (double)(load.last_reply_ns - start_ns + 1) / 1e9, cpu_seconds() - cpu);
	for (unsigned i = 0; i < load.connection_count; i++)
		corpus_done(&load.connections[i].corpus);
	free(load.connections);
	free(load.latencies_us);
	close(load.epoll);
	return load.failed ? 1 : 0;
}
