/* Connections of the training's processes: a thread each, which only ever waits for its client, or briefly for the server. */
#include "base/clock.h"
#include "cli/relay/relay_core.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	CONNECTIONS_MAX = 256, /* more wait until one ends */
	READ_BYTES = 16 << 10,
	LOOK_MS = 1000, /* at a training whose sm-ship was killed */
	FULL_MS = 50,
};

struct connection {
	struct relay_core *core;
	_Atomic int *open_count;
	int fd;
};

/* ---- one connection ---- */

static bool send_all(int fd, struct span bytes)
{
	while (bytes.len) {
		ssize_t sent = send(fd, bytes.ptr, bytes.len, MSG_NOSIGNAL);
		if (sent < 0 && errno != EINTR)
			return false;
		bytes = span_skip(bytes, sent > 0 ? (size_t)sent : 0);
	}
	return true;
}

static bool send_reply(int fd, const struct relay_reply *reply, bool closes)
{
	AUTO_DONE(buf) head = BUF_INIT(4096);

	buf_printf(&head, "HTTP/1.1 %d Relay\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n",
		reply->status, reply->body.len);
	if (reply->location)
		buf_printf(&head, "Location: %s\r\n", reply->location);
	if (reply->status == 401)
		buf_append_text(&head, "WWW-Authenticate: Bearer\r\n");
	buf_append_text(&head, closes ? "Connection: close\r\n\r\n" : "\r\n");
	return head.failure == OK && send_all(fd, buf_span(&head)) && send_all(fd, buf_span(&reply->body));
}

/* The clients print addresses of runs: whoever follows one is sent to the server, where they lead to the job. */
static bool is_for_the_page(const struct relay_request *request)
{
	return span_equal(request->method, SPAN("GET")) && span_equal(request->path, SPAN("/"));
}

/* Whose it is; else the last one that is spoken says that it is nobody's. */
static const struct relay_dialect *dialect_of(const struct relay_core *core, const struct relay_request *request)
{
	const struct relay_dialect *last = NULL;

	for (size_t i = 0; i < RELAY_DIALECT_COUNT; i++) {
		if (!core->speaks[i])
			continue;
		last = relay_dialects[i];
		if (request && last->is_its(core, request))
			return last;
	}
	return last;
}

static bool answer(struct connection *connection, const struct relay_request *request)
{
	struct relay_core *core = connection->core;
	const struct relay_dialect *dialect = dialect_of(core, request);
	struct relay_reply reply = {.body = BUF_INIT(RELAY_REPLY_MAX_BYTES)};
	struct error err = {0};
	enum status status = OK;

	if (is_for_the_page(request)) {
		reply.status = 302;
		reply.location = core->server;
	} else if (!dialect->is_admitted(core, request)) {
		status = error_set(&err, ERR_UNAUTHORIZED, "this relay is a training's own: it needs its token");
	} else {
		status = dialect->answer(core, request, &reply, &err);
	}
	if (status != OK) {
		err.status = status;
		dialect->refuse(&err, &reply);
	}
	bool goes_on = send_reply(connection->fd, &reply, request->closes) && !request->closes;
	buf_done(&reply.body);
	return goes_on;
}

static void refuse(struct connection *connection, struct error *err, enum status status)
{
	struct relay_reply reply = {.body = BUF_INIT(RELAY_REPLY_MAX_BYTES)};

	err->status = status;
	dialect_of(connection->core, NULL)->refuse(err, &reply);
	(void)!send_reply(connection->fd, &reply, true);
	buf_done(&reply.body);
}

static void remove_front(struct buf *bytes, size_t count)
{
	memmove(bytes->ptr, bytes->ptr + count, bytes->len - count);
	bytes->len -= count;
}

static bool read_more(int fd, struct buf *bytes)
{
	char *room = buf_reserve(bytes, READ_BYTES);
	ssize_t got;

	if (!room)
		return false;
	do {
		got = recv(fd, room, READ_BYTES, 0);
	} while (got < 0 && errno == EINTR);
	if (got > 0)
		buf_advance(bytes, (size_t)got);
	return got > 0;
}

static void converse(struct connection *connection)
{
	size_t max_body_bytes = connection->core->max_body_bytes;
	AUTO_DONE(buf) bytes = BUF_INIT(max_body_bytes + RELAY_HEAD_MAX_BYTES + 2 * READ_BYTES);
	struct relay_request request;
	struct error err = {0};
	bool is_whole = false, goes_on = true;

	while (goes_on) {
		enum status status = relay_request_read(buf_span(&bytes), max_body_bytes, &request, &is_whole, &err);
		if (status != OK) {
			refuse(connection, &err, status);
			return;
		}
		if (is_whole) {
			goes_on = answer(connection, &request);
			remove_front(&bytes, request.whole_bytes);
		} else {
			goes_on = read_more(connection->fd, &bytes);
		}
	}
}

static void *run_connection(void *argument)
{
	struct connection *connection = argument;

	converse(connection);
	shutdown(connection->fd, SHUT_RDWR);
	close(connection->fd);
	atomic_fetch_sub(connection->open_count, 1);
	mem_free(connection);
	return NULL;
}

/* ---- all of them ---- */

static void start_connection(struct relay_core *core, int fd, _Atomic int *open_count)
{
	struct connection *connection = mem_zeroed(sizeof *connection);
	pthread_attr_t attributes;
	pthread_t thread;
	int on = 1;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
	if (connection) {
		*connection = (struct connection){.core = core, .open_count = open_count, .fd = fd};
		pthread_attr_init(&attributes);
		pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
		atomic_fetch_add(open_count, 1);
		bool is_started = pthread_create(&thread, &attributes, run_connection, connection) == 0;
		pthread_attr_destroy(&attributes);
		if (is_started)
			return;
		atomic_fetch_sub(open_count, 1);
		mem_free(connection);
	}
	close(fd); /* the client tries again */
}

/* sm-ship is gone without a word: what it says no more, the training's own end says. */
static bool is_training_over(const struct relay_core *core)
{
	int pid = atomic_load(&core->shared->child_pid);
	char path[64], text[1024];

	snprintf(path, sizeof path, "/proc/%d/stat", pid);
	int fd = pid > 0 ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	if (fd < 0)
		return true;
	ssize_t got = read(fd, text, sizeof text - 1);
	close(fd);
	text[got > 0 ? got : 0] = 0;
	const char *name_end = strrchr(text, ')');
	return !name_end || strncmp(name_end, ") Z", 3) == 0; /* ended, and nobody has asked how */
}

void relay_leave_terminal(void)
{
	int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (nowhere >= 0)
		dup2(nowhere, STDERR_FILENO); /* who waits for sm-ship's last word must not wait for ours */
	if (nowhere > STDERR_FILENO)
		close(nowhere);
}

/* What it wrote: its last word. False: it was killed. */
static bool has_been_told(int parent)
{
	char word;
	ssize_t got;

	do {
		got = read(parent, &word, 1);
	} while (got < 0 && errno == EINTR);
	return got == 1;
}

void relay_serve(struct relay_core *core, int listener, int parent)
{
	_Atomic int open_count = 0;
	bool is_orphan = false;

	for (;;) {
		bool is_full = atomic_load(&open_count) >= CONNECTIONS_MAX;
		struct pollfd items[] = {{.fd = is_orphan ? -1 : parent, .events = POLLIN},
			{.fd = is_full ? -1 : listener, .events = POLLIN}};
		int ready = poll(items, 2, is_full ? FULL_MS : is_orphan ? LOOK_MS : -1);
		if (is_orphan && is_training_over(core))
			return;
		if (ready <= 0)
			continue;
		if (items[0].revents && has_been_told(parent))
			return;
		if (items[0].revents) {
			is_orphan = true;
			atomic_store(&core->is_alone, true);
			relay_leave_terminal();
		}
		int fd = items[1].revents ? accept4(listener, NULL, NULL, SOCK_CLOEXEC) : -1;
		if (fd >= 0)
			start_connection(core, fd, &open_count);
	}
}
