/*
 * A network between a server and its database: takes TCP connections and hands each on to a unix socket, every byte so much later.
 *
 *   bench_delay --to PATH [--us 500]      prints the port; ends with its standard input
 *
 * --us: microseconds that a round trip takes more, half of them each way. One thread, which only waits and copies: what passes
 * is never held up by what is behind it, so that a connection is as fast as before, and only further away.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { CHUNK_BYTES = 256 << 10, CHUNKS = 256, ENDS_MAX = 512, EVENTS = 64 };

struct chunk {
	int64_t due_ns;
	size_t len, sent;
	char *bytes;
};

/* One way of a connection. */
struct way {
	int from, to;
	bool is_over, is_shut; /* nothing more comes; and the other side was told */
	struct chunk chunks[CHUNKS]; /* a ring */
	size_t first, count;
};

struct end {
	struct way *in, *out; /* read from this socket; written to it */
};

struct proxy {
	int epoll, listener;
	int64_t delay_ns;
	const char *path;
	struct end ends[ENDS_MAX]; /* by descriptor */
	struct way *ways[ENDS_MAX];
	size_t way_count;
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

static void watch(const struct proxy *proxy, int fd)
{
	struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLET, .data.fd = fd};

	if (epoll_ctl(proxy->epoll, EPOLL_CTL_ADD, fd, &event))
		fail("epoll_ctl");
}

static struct way *add_way(struct proxy *proxy, int from, int to)
{
	struct way *way = calloc(1, sizeof *way);

	if (!way || proxy->way_count == ENDS_MAX)
		fail("a connection");
	way->from = from;
	way->to = to;
	proxy->ends[from].in = proxy->ends[to].out = way;
	return proxy->ways[proxy->way_count++] = way;
}

static void accept_one(struct proxy *proxy)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int client = accept4(proxy->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC), one = 1;
	int server = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (client < 0 || server < 0 || client >= ENDS_MAX || server >= ENDS_MAX)
		fail("accept");
	setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
	snprintf(address.sun_path, sizeof address.sun_path, "%s", proxy->path);
	if (connect(server, (struct sockaddr *)&address, sizeof address)) {
		close(client); /* the database is away */
		close(server);
		return;
	}
	fcntl(server, F_SETFL, O_NONBLOCK);
	add_way(proxy, client, server);
	add_way(proxy, server, client);
	watch(proxy, client);
	watch(proxy, server);
}

/* Reads all there is: each piece with the time at which it may go on. */
static void take(const struct proxy *proxy, struct way *way)
{
	while (way->count < CHUNKS && !way->is_over) {
		struct chunk *chunk = &way->chunks[(way->first + way->count) % CHUNKS];
		if (!chunk->bytes && !(chunk->bytes = malloc(CHUNK_BYTES)))
			fail("malloc");
		ssize_t n = read(way->from, chunk->bytes, CHUNK_BYTES);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (n <= 0) {
			way->is_over = true;
			return;
		}
		chunk->len = (size_t)n;
		chunk->sent = 0;
		chunk->due_ns = now_ns() + proxy->delay_ns;
		way->count++;
	}
}

/* Writes what is due. When the next piece is; INT64_MAX: the sockets will say. */
static int64_t give(const struct proxy *proxy, struct way *way)
{
	while (way->count) {
		struct chunk *chunk = &way->chunks[way->first];
		if (chunk->due_ns > now_ns())
			return chunk->due_ns;
		ssize_t n = send(way->to, chunk->bytes + chunk->sent, chunk->len - chunk->sent, MSG_NOSIGNAL);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return INT64_MAX;
		if (n < 0) {
			way->is_over = true;
			way->count = 0;
			break;
		}
		chunk->sent += (size_t)n;
		if (chunk->sent < chunk->len)
			continue;
		bool was_full = way->count == CHUNKS;
		way->first = (way->first + 1) % CHUNKS;
		way->count--;
		if (was_full)
			take(proxy, way); /* its bytes were announced while there was no room */
	}
	if (way->is_over && !way->is_shut) {
		way->is_shut = true;
		shutdown(way->to, SHUT_RDWR);
	}
	return INT64_MAX;
}

static void free_way(struct proxy *proxy, struct way *way)
{
	for (size_t i = 0; i < CHUNKS; i++)
		free(way->chunks[i].bytes);
	proxy->ends[way->from].in = proxy->ends[way->to].out = NULL;
	free(way);
}

/* Both ways of a connection lie beside each other. */
static void sweep(struct proxy *proxy)
{
	for (size_t i = 0; i < proxy->way_count; i += 2) {
		struct way *there = proxy->ways[i], *back = proxy->ways[i + 1];
		if (!there->is_shut || !back->is_shut)
			continue;
		close(there->from);
		close(there->to);
		free_way(proxy, there);
		free_way(proxy, back);
		proxy->way_count -= 2;
		proxy->ways[i] = proxy->ways[proxy->way_count];
		proxy->ways[i + 1] = proxy->ways[proxy->way_count + 1];
		i -= 2;
	}
}

static int64_t give_all(struct proxy *proxy)
{
	int64_t next_ns = INT64_MAX;

	for (size_t i = 0; i < proxy->way_count; i++) {
		int64_t due_ns = give(proxy, proxy->ways[i]);
		next_ns = due_ns < next_ns ? due_ns : next_ns;
	}
	sweep(proxy);
	return next_ns;
}

static int wait_for(const struct proxy *proxy, struct epoll_event *events, int64_t until_ns)
{
	int64_t left_ns = until_ns == INT64_MAX ? 0 : until_ns - now_ns();
	struct timespec left = {.tv_sec = 0, .tv_nsec = left_ns > 0 ? left_ns : 0};

	return epoll_pwait2(proxy->epoll, events, EVENTS, until_ns == INT64_MAX ? NULL : &left, NULL);
}

static void run(struct proxy *proxy)
{
	struct epoll_event events[EVENTS];

	for (;;) {
		int count = wait_for(proxy, events, give_all(proxy));
		if (count < 0 && errno != EINTR)
			fail("epoll_pwait2");
		for (int i = 0; i < count; i++) {
			int fd = events[i].data.fd;
			if (fd == STDIN_FILENO)
				return;
			if (fd == proxy->listener)
				accept_one(proxy);
			else if (proxy->ends[fd].in)
				take(proxy, proxy->ends[fd].in);
		}
	}
}

static void listen_any(struct proxy *proxy)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof address;
	struct epoll_event event = {.events = EPOLLIN};

	proxy->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (bind(proxy->listener, (struct sockaddr *)&address, len) || listen(proxy->listener, 64) ||
		getsockname(proxy->listener, (struct sockaddr *)&address, &len))
		fail("listen");
	event.data.fd = proxy->listener;
	epoll_ctl(proxy->epoll, EPOLL_CTL_ADD, proxy->listener, &event);
	event.data.fd = STDIN_FILENO;
	if (epoll_ctl(proxy->epoll, EPOLL_CTL_ADD, STDIN_FILENO, &event))
		fail("standard input must be a pipe");
	printf("%d\n", ntohs(address.sin_port));
	fflush(stdout);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{"to", required_argument, NULL, 't'}, {"us", required_argument, NULL, 'u'}, {0}};
	static struct proxy proxy = {.delay_ns = 250000};
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) >= 0) {
		if (option == 't')
			proxy.path = optarg;
		else if (option == 'u')
			proxy.delay_ns = strtoll(optarg, NULL, 10) * 1000 / 2;
		else
			return 2;
	}
	if (!proxy.path)
		return 2;
	prctl(PR_SET_TIMERSLACK, 1);
	proxy.epoll = epoll_create1(EPOLL_CLOEXEC);
	listen_any(&proxy);
	run(&proxy);
	return 0;
}
