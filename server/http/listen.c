#include "http/listen.h"
#include "base/span.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BACKLOG = 511, PROBE_AFTER_S = 60, PROBE_EVERY_S = 15, PROBES = 4 };

static enum status split(const char *address, char host[256], char port[8], struct error *err)
{
	const char *colon = strrchr(address, ':');
	struct span name = span_of(address, colon ? (size_t)(colon - address) : 0);
	uint64_t number;

	if (name.len > 2 && name.ptr[0] == '[' && name.ptr[name.len - 1] == ']')
		name = span_of(name.ptr + 1, name.len - 2);
	if (!colon || name.len == 0 || name.len > 255 || !span_parse_u64(span_from(colon + 1), &number) ||
		number > 65535)
		return error_set(err, ERR_INVALID, "'%s' is not an address to listen on; write HOST:PORT", address);
	snprintf(host, 256, "%.*s", SPAN_ARGS(name));
	snprintf(port, 8, "%u", (unsigned)number);
	return OK;
}

/* Inherited by every connection: uploads without an end have no timeout, yet their clients may vanish. */
static void probe_the_dead(int fd)
{
	int yes = 1, after_s = PROBE_AFTER_S, every_s = PROBE_EVERY_S, probes = PROBES;

	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &yes, sizeof yes);
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &after_s, sizeof after_s);
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &every_s, sizeof every_s);
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
}

static int open_one(const struct addrinfo *info)
{
	int yes = 1, fd = socket(info->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
	probe_the_dead(fd);
	if (info->ai_family == AF_INET6) {
		int no = 0; /* [::] means both families */
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no);
	}
	if (bind(fd, info->ai_addr, info->ai_addrlen) == 0 && listen(fd, BACKLOG) == 0)
		return fd;
	int failure = errno;
	close(fd);
	errno = failure;
	return -1;
}

enum status listen_open(int *out, const char *address, struct error *err)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV}, *found;
	char host[256], port[8];

	TRY(split(address, host, port, err));
	int failure = getaddrinfo(host, port, &hints, &found);
	if (failure)
		return error_set(err, ERR_IO, "cannot listen on '%s': %s", address, gai_strerror(failure));
	int fd = open_one(found), reason = errno;
	/* "localhost" is ::1 first, also on a host without IPv6; an address in use is no reason to take another. */
	for (const struct addrinfo *at = found->ai_next;
		at && fd < 0 && (reason == EADDRNOTAVAIL || reason == EAFNOSUPPORT); at = at->ai_next) {
		fd = open_one(at);
		reason = errno;
	}
	freeaddrinfo(found);
	if (fd < 0)
		return error_set(err, ERR_IO, "cannot listen on '%s': %s", address, strerror(reason));
	*out = fd;
	return OK;
}

unsigned listen_port(int socket)
{
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
	} address = {0};
	socklen_t len = sizeof address;

	if (getsockname(socket, &address.any, &len) != 0)
		return 0;
	return ntohs(address.any.sa_family == AF_INET6 ? address.v6.sin6_port : address.v4.sin_port);
}
