/*
 * Job: the open connections: how many an address may have, and which of them are too slow. Whoever sends a header or a
 *      buffered body byte by byte keeps a connection alive for ever, since the transport's timeout is of silence only.
 *      A thread looks at all of them; what it ends gets a 408 where nothing else was said. Uploads of lines are no such
 *      bodies: a log that is followed is slow by nature.
 * libmicrohttpd's own limit per address is not used: it knows no exceptions, and all of a proxy's clients are one address.
 * Ownership: new/free; a peer lives from its acceptance to peers_remove, which comes before its socket is closed.
 * Threads: any; a peer's functions only in its connection's I/O thread.
 */
#pragma once

#include "base/alloc.h"
#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

struct sockaddr;
struct peers;
struct peer;
struct exchange;
struct tls;

struct peers_options {
	size_t max_an_address; /* connections; 0: no limit */
	const char *proxies; /* addresses that have none, separated by commas */
	int64_t header_ms; /* from the first byte of a header to its end, with a TLS handshake before; 0: no limit */
	uint64_t body_bytes_per_s; /* of a buffered body at least, after the first header_ms; 0: no limit */
	const struct tls *tls; /* with it nothing can be said around the transport; NULL: none */
};

enum status peers_start(struct peers **out, const struct peers_options *options, struct error *err) MUST_CHECK;
void peers_free(struct peers *peers); /* no peer is left */

/* May this address (of IPv6: its /64) have one more? */
bool peers_may_come(struct peers *peers, const struct sockaddr *address);
/* NULL: out of memory. */
struct peer *peers_add(struct peers *peers, int socket, const struct sockaddr *address);
void peers_remove(struct peers *peers, struct peer *peer);

const struct tls *peer_tls(const struct peer *peer);
/* What it is counted by with others of its like: its address, of IPv6 the /64; "": one of the proxies', or not known. Any thread. */
const char *peer_network(const struct peer *peer);
/* The place for the request that the connection carries. */
struct exchange **peer_exchange(struct peer *peer);
void peer_awaits_header(struct peer *peer);
void peer_awaits_body(struct peer *peer);
void peer_awaits_nothing(struct peer *peer);

AUTO_TYPE(peers)
