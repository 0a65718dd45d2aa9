#include "http/peers.h"

#include "base/clock.h"
#include "base/span.h"

#include <arpa/inet.h>
#include <linux/tcp.h>
#include <netinet/in.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/socket.h>

enum { LOOK_MS = 250, ADDRESS_BYTES = INET6_ADDRSTRLEN };
#define UNKNOWN (UINT64_C(1) << 63) /* and which wait it is of: how many bytes had come is asked at the first look */

enum waiting { FOR_HEADER, FOR_BODY, FOR_NOTHING };

struct peer {
	const struct tls *tls;
	struct exchange *exchange;
	int socket;
	char network[ADDRESS_BYTES];
	_Atomic enum waiting waiting;
	uint64_t header_waits;
	atomic_uint_fast64_t bytes_before; /* received when this waiting began, or UNKNOWN */
	atomic_int_fast64_t since_ms; /* the same; of a header, when its first byte was seen; 0: not yet */
	bool is_ended; /* under the mutex */
	struct peer *next, *previous;
};

struct peers {
	struct peers_options options;
	char *proxies;
	pthread_mutex_t mutex;
	pthread_cond_t must_end_changed;
	pthread_t thread;
	bool is_running, must_end;
	struct peer *first;
};

static void print_address(const struct sockaddr *address, char out[ADDRESS_BYTES])
{
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)address;

	*out = 0;
	if (address->sa_family == AF_INET)
		inet_ntop(AF_INET, &((const struct sockaddr_in *)address)->sin_addr, out, ADDRESS_BYTES);
	else if (address->sa_family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr))
		inet_ntop(AF_INET, &v6->sin6_addr.s6_addr[12], out, ADDRESS_BYTES);
	else if (address->sa_family == AF_INET6)
		inet_ntop(AF_INET6, &v6->sin6_addr, out, ADDRESS_BYTES);
}

/* What connections are counted by: of IPv6 the first 64 bits, since one machine has all the addresses that begin so. */
static void print_network(const struct sockaddr *address, char out[ADDRESS_BYTES])
{
	struct sockaddr_in6 v6;

	if (address->sa_family == AF_INET6) {
		v6 = *(const struct sockaddr_in6 *)address;
		if (!IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr))
			memset(&v6.sin6_addr.s6_addr[8], 0, 8);
		address = (const struct sockaddr *)&v6;
	}
	print_address(address, out);
}

static uint64_t received(int socket)
{
	struct tcp_info info = {0};
	socklen_t len = sizeof info;

	return getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &len) == 0 ? info.tcpi_bytes_received : 0;
}

static bool is_proxy(const struct peers *peers, const char *address)
{
	struct span rest = span_from(peers->proxies), entry;

	while (span_next(&rest, ',', &entry))
		if (span_equal(span_trim(entry), span_from(address)))
			return true;
	return false;
}

/* "": one of the proxies, of which nothing is counted. */
static void find_network(const struct peers *peers, const struct sockaddr *address, char out[ADDRESS_BYTES])
{
	print_address(address, out);
	if (is_proxy(peers, out))
		*out = 0;
	else
		print_network(address, out);
}

bool peers_may_come(struct peers *peers, const struct sockaddr *address)
{
	char text[ADDRESS_BYTES];
	size_t count = 0;

	if (!peers->options.max_an_address || !address)
		return true;
	find_network(peers, address, text);
	if (!*text)
		return true;
	pthread_mutex_lock(&peers->mutex);
	for (const struct peer *at = peers->first; at; at = at->next)
		count += strcmp(at->network, text) == 0;
	pthread_mutex_unlock(&peers->mutex);
	return count < peers->options.max_an_address;
}

struct peer *peers_add(struct peers *peers, int socket, const struct sockaddr *address)
{
	struct peer *peer = mem_zeroed(sizeof *peer);

	if (!peer)
		return NULL;
	peer->socket = socket;
	peer->tls = peers->options.tls;
	if (address)
		find_network(peers, address, peer->network);
	pthread_mutex_lock(&peers->mutex);
	peer->next = peers->first;
	if (peers->first)
		peers->first->previous = peer;
	peers->first = peer;
	pthread_mutex_unlock(&peers->mutex);
	return peer;
}

void peers_remove(struct peers *peers, struct peer *peer)
{
	if (!peer)
		return;
	pthread_mutex_lock(&peers->mutex);
	if (peer->next)
		peer->next->previous = peer->previous;
	if (peer->previous)
		peer->previous->next = peer->next;
	else
		peers->first = peer->next;
	pthread_mutex_unlock(&peers->mutex);
	mem_free(peer);
}

const char *peer_network(const struct peer *peer)
{
	return peer->network;
}

const struct tls *peer_tls(const struct peer *peer)
{
	return peer->tls;
}

struct exchange **peer_exchange(struct peer *peer)
{
	return &peer->exchange;
}

static void await(struct peer *peer, enum waiting what, uint64_t bytes_before, int64_t since_ms)
{
	atomic_store(&peer->waiting, FOR_NOTHING); /* while the others change */
	atomic_store(&peer->bytes_before, bytes_before);
	atomic_store(&peer->since_ms, since_ms);
	atomic_store(&peer->waiting, what);
}

/* Most clients are back before anybody looks, so the kernel is not asked here. What was sent of a header by then does not count. */
void peer_awaits_header(struct peer *peer)
{
	await(peer, FOR_HEADER, UNKNOWN | ++peer->header_waits, 0);
}

void peer_awaits_body(struct peer *peer)
{
	await(peer, FOR_BODY, received(peer->socket), clock_mono_ms());
}

void peer_awaits_nothing(struct peer *peer)
{
	atomic_store(&peer->waiting, FOR_NOTHING);
}

/* A connection that nothing came on is idle, which is the transport's to end. */
static bool is_header_late(struct peer *peer, int64_t limit_ms, int64_t now_ms)
{
	int64_t since_ms = atomic_load(&peer->since_ms), none = 0;
	uint64_t before = atomic_load(&peer->bytes_before), bytes = received(peer->socket);

	if (before & UNKNOWN) {
		atomic_compare_exchange_strong(&peer->bytes_before, &before, bytes); /* else it waits anew meanwhile */
		return false;
	}
	if (bytes == before)
		return false;
	if (since_ms)
		return now_ms - since_ms > limit_ms;
	atomic_compare_exchange_strong(&peer->since_ms, &none, now_ms);
	return false;
}

static bool is_body_slow(const struct peer *peer, const struct peers_options *options, int64_t now_ms)
{
	int64_t counted_ms = now_ms - atomic_load(&peer->since_ms) - options->header_ms;
	uint64_t bytes = received(peer->socket) - atomic_load(&peer->bytes_before);

	return counted_ms > 0 && bytes < options->body_bytes_per_s * (uint64_t)counted_ms / 1000;
}

static bool is_too_slow(struct peer *peer, const struct peers_options *options, int64_t now_ms)
{
	switch (atomic_load(&peer->waiting)) {
	case FOR_HEADER:
		return options->header_ms && is_header_late(peer, options->header_ms, now_ms);
	case FOR_BODY:
		return options->body_bytes_per_s && is_body_slow(peer, options, now_ms);
	case FOR_NOTHING:
		break;
	}
	return false;
}

/* The transport sees the end of input, and closes. */
static void end(struct peer *peer, bool is_tls)
{
	static const char reply[] = "HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";

	peer->is_ended = true;
	if (!is_tls)
		(void)!send(peer->socket, reply, sizeof reply - 1, MSG_NOSIGNAL | MSG_DONTWAIT);
	shutdown(peer->socket, SHUT_RDWR);
}

static void *look(void *context)
{
	struct peers *peers = context;

	pthread_setname_np(pthread_self(), "peers");
	pthread_mutex_lock(&peers->mutex);
	while (!peers->must_end) {
		int64_t now_ms = clock_mono_ms();
		for (struct peer *at = peers->first; at; at = at->next)
			if (!at->is_ended && is_too_slow(at, &peers->options, now_ms))
				end(at, peers->options.tls != NULL);
		struct timespec next = clock_deadline(LOOK_MS);
		pthread_cond_timedwait(&peers->must_end_changed, &peers->mutex, &next);
	}
	pthread_mutex_unlock(&peers->mutex);
	return NULL;
}

static void init_locks(struct peers *peers)
{
	pthread_condattr_t attributes;

	pthread_mutex_init(&peers->mutex, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&peers->must_end_changed, &attributes);
	pthread_condattr_destroy(&attributes);
}

enum status peers_start(struct peers **out, const struct peers_options *options, struct error *err)
{
	struct peers *peers = mem_zeroed(sizeof *peers);

	if (!peers || !(peers->proxies = mem_copy_string(options->proxies ? options->proxies : ""))) {
		mem_free(peers);
		return error_no_memory(err);
	}
	peers->options = *options;
	init_locks(peers);
	peers->is_running = pthread_create(&peers->thread, NULL, look, peers) == 0;
	if (!peers->is_running) {
		peers_free(peers);
		return error_set(err, ERR_MEMORY, "cannot start the thread that looks after connections");
	}
	*out = peers;
	return OK;
}

void peers_free(struct peers *peers)
{
	if (!peers)
		return;
	pthread_mutex_lock(&peers->mutex);
	peers->must_end = true;
	pthread_cond_broadcast(&peers->must_end_changed);
	pthread_mutex_unlock(&peers->mutex);
	if (peers->is_running)
		pthread_join(peers->thread, NULL);
	pthread_cond_destroy(&peers->must_end_changed);
	pthread_mutex_destroy(&peers->mutex);
	mem_free(peers->proxies);
	mem_free(peers);
}
